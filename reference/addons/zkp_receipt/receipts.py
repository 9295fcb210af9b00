"""ZK receipts: POST /v1/receipts, POST /v1/receipts/verify, and the addon's key (8.4)."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from reference.addons.falcon_key import FalconKey, build_unavailable, open_falcon_key
from reference.addons.falcon_library import find_library
from reference.addons.kit import Addon, Call, Context, Handler
from reference.addons.zkp_receipt.requests import IssueRequest, VerifyRequest
from reference.addons.zkp_receipt.score_source import find_score
from reference.protocol import falcon
from reference.protocol.credentials import Question
from reference.protocol.envelope import signed_bytes, with_signature
from reference.protocol.issuer_key_documents import PQC_KEYS
from reference.protocol.range_proof import NONCE_BYTES, Nonces
from reference.protocol.time_text import utc_text
from reference.protocol.trust_set import key_document
from reference.protocol.zk_receipts import (
    NOTICE,
    ReceiptJudgement,
    ScoreTooLow,
    build_proven_payload,
    issuer_did,
    judge_receipt,
)
from reference.web.errors import Unprocessable
from reference.web.http.bearer_token import BearerToken, build_unauthorized
from reference.web.http.detail_error_replies import json_reply
from reference.web.http.exchange import Reply
from reference.web.settings import name_setting

KEY_FILE = "falcon_key.json"
TOKEN_FILE = "issue_token"  # noqa: S105 - a file's name


def operations(context: Context) -> Mapping[str, Handler]:
    """Return the addon's operations.

    Raises:
        Misconfigured: Its key or its token cannot be read or made.
    """
    library = find_library()
    did = issuer_did(context.word)
    key = open_falcon_key(context.data_dir / KEY_FILE, did, library, now=context.clock.now())
    with name_setting("WP_ADDON_DATA_DIR"):
        token = BearerToken.of(context.data_dir / TOKEN_FILE)
    receipts = Receipts(context, library, did, key, token)
    return {
        "POST /v1/receipts": receipts.issue,
        "POST /v1/receipts/verify": receipts.verify,
        f"GET {PQC_KEYS}": receipts.keys,
    }


class Receipts:
    """Proves scores that callers state, stores none of them, and judges receipts."""

    def __init__(
        self, context: Context, library: falcon.Library | None, did: str, key: FalconKey | None, token: BearerToken
    ) -> None:
        self._context = context
        self._library = library
        self._did = did
        self._key = key
        self._token = token
        self._opened_at = utc_text(context.clock.now())

    async def issue(self, call: Call) -> Reply:
        """Issue a receipt to a caller with the token."""
        # Judged before the body: a caller without the token learns nothing about its request (8.4).
        if not self._token.is_in(call.request.headers.get("authorization", ())):
            raise build_unauthorized()
        request = call.model(IssueRequest)
        # Before the proof, which takes a tenth of a second and could not be signed.
        if self._key is None or self._library is None:
            raise build_unavailable()
        payload = await self._prove(request)
        message = signed_bytes(payload)
        answer = {
            "receipt": with_signature(payload, self._key.kid, await self._key.sign(message)),
            "payload": payload,
            "content_hash": hashlib.sha256(message).hexdigest(),
            "kid": self._key.kid,
            "notice": NOTICE,
        }
        return json_reply(answer, 201)

    async def verify(self, call: Call) -> dict[str, Any]:
        """Judge a receipt: 200 also for invalid receipts (P-AD-07)."""
        request = call.model(VerifyRequest)
        # The own key counts without the control plane, so the addon's receipts verify while that is away.
        own = [key.public for key in self._list_published()]
        question, keys = self._build_question(), self._context.keys()
        # Checking the proof takes long enough to hold up other calls, so it runs in a thread.
        judgement = await asyncio.to_thread(judge_receipt, request.receipt, question, keys, self._library, own_keys=own)
        return _as_json(judgement)

    async def keys(self, _: Call) -> dict[str, Any]:
        """Publish the key for checking receipts."""
        published_keys = self._list_published()
        return key_document(self._did, published_keys[0].made_at if published_keys else self._opened_at, published_keys)

    async def _prove(self, request: IssueRequest) -> dict[str, Any]:
        """Return the payload with its proof."""
        question = self._build_question()
        issuer, score = find_score(request, question, self._context.keys(), self._library)
        try:
            # A proof takes a tenth of a second, so it is made in a thread.
            return await asyncio.to_thread(
                build_proven_payload,
                # Score and certificate stay out of the payload: the receipt must not contain what it hides.
                request.model_dump(exclude={"score_milliunits", "atb_certificate"}),
                bench_issuer=issuer,
                score=score,
                threshold=request.threshold_milliunits,
                now=question.now,
                ttl=request.ttl_seconds,
                nonces=Nonces.of(secrets.token_bytes(NONCE_BYTES)),
            )
        except ScoreTooLow as fault:
            where = {"loc": ["body", "threshold_milliunits"], "msg": str(fault), "type": "score_too_low"}
            # Without the cause, whose traceback in a log could hold the secret score.
            raise Unprocessable([where]) from None

    def _list_published(self) -> Sequence[FalconKey]:
        return () if self._key is None else (self._key,)

    def _build_question(self) -> Question:
        return Question(self._context.clock.now(), self._context.skew)


def _as_json(receipt_judgement: ReceiptJudgement) -> dict[str, Any]:
    judgement, refusal = receipt_judgement.judgement, receipt_judgement.refusal
    return {
        "valid": judgement.valid,
        "status": judgement.status.value,
        "reason": judgement.reason,
        "stage": None if refusal is None else refusal.stage.value,
        "element": None if refusal is None else refusal.element,
        "checks": asdict(receipt_judgement.checks),
        "content_hash": judgement.content_hash,
        "payload": judgement.verified_payload,
        "notice": NOTICE,
    }


ADDON = Addon("zkp-receipt", 8093, operations, openapi="zkp_receipt.json", notice=NOTICE)
