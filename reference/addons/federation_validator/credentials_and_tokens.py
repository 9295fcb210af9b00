"""The validator of federated credentials: POST /v1/validate, POST /v1/tokens/verify, and its key (8.3)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

from reference.addons.falcon_key import FalconKey, build_unavailable, open_falcon_key
from reference.addons.falcon_library import find_library
from reference.addons.kit import Addon, Call, Context, Handler
from reference.protocol import falcon
from reference.protocol.credentials import Judgement, Question, judge
from reference.protocol.envelope import Envelope, signed_bytes, with_signature
from reference.protocol.federation_token import MAX_CREDENTIALS, issuer_did, judge_token, token_payload
from reference.protocol.issuer_key_documents import PQC_KEYS
from reference.protocol.time_text import utc_text
from reference.protocol.trust_set import key_document

KEY_FILE = "falcon_key.json"
Text = Annotated[str, Field(strict=True)]
Audience = Annotated[str, Field(strict=True, min_length=1, max_length=512)]


class ValidateRequest(BaseModel):
    """Credentials, and the audience of the token."""

    credentials: Annotated[list[Text], Field(min_length=1, max_length=MAX_CREDENTIALS)]
    audience: Audience | None = None


class TokenRequest(BaseModel):
    """A token, and the audience that it must have."""

    token: Text
    audience: Audience | None = None


def operations(context: Context) -> Mapping[str, Handler]:
    """Return the validator's operations.

    Raises:
        Misconfigured: Its key cannot be read or made.
    """
    library = find_library()
    did = issuer_did(context.word)
    key = open_falcon_key(context.data_dir / KEY_FILE, did, library, now=context.clock.now())
    validator = Validator(context, library, did, key)
    return {
        "POST /v1/validate": validator.validate,
        "POST /v1/tokens/verify": validator.verify_token,
        f"GET {PQC_KEYS}": validator.keys,
    }


class Validator:
    """Judges credentials by the trust set, and signs the result with its own key."""

    def __init__(self, context: Context, library: falcon.Library | None, did: str, key: FalconKey | None) -> None:
        self._context = context
        self._library = library
        self._did = did
        self._key = key
        self._opened_at = utc_text(context.clock.now())

    async def validate(self, call: Call) -> dict[str, Any]:
        """Judge each credential; a token is issued only if every one is active."""
        request = call.model(ValidateRequest)
        keys, question = self._context.keys(), self._build_question()
        judgements = [judge(text, question, keys, self._library) for text in request.credentials]
        envelopes = [one.envelope for one in judgements if one.valid and one.envelope is not None]
        # One bad credential spoils the token: it would vouch for all of them (8.3).
        valid = len(envelopes) == len(judgements)
        return {
            "valid": valid,
            "results": [_describe_result(index, one) for index, one in enumerate(judgements)],
            "token": await self._sign_token(envelopes, request.audience, question.now) if valid else None,
            "issuer": self._did,
        }

    async def verify_token(self, call: Call) -> dict[str, Any]:
        """Judge a token of this validator, or of another with the same service word and a trusted key."""
        request = call.model(TokenRequest)
        judgement = judge_token(
            request.token,
            self._build_question(),
            self._context.keys(),
            self._library,
            issuer=self._did,
            # The own key counts without the control plane, so the validator's tokens stay valid while that is away.
            own_keys=[key.public for key in self._list_published()],
            audience=request.audience,
        )
        return {
            "valid": judgement.valid,
            "status": judgement.status.value,
            "reason": judgement.reason,
            "payload": judgement.verified_payload,
        }

    async def keys(self, _: Call) -> dict[str, Any]:
        """Publish the key for checking tokens."""
        published_keys = self._list_published()
        return key_document(self._did, published_keys[0].made_at if published_keys else self._opened_at, published_keys)

    def _list_published(self) -> Sequence[FalconKey]:
        return () if self._key is None else (self._key,)

    def _build_question(self) -> Question:
        return Question(self._context.clock.now(), self._context.skew)

    async def _sign_token(self, credentials: Sequence[Envelope], audience: str | None, now: int) -> str:
        # Without a Falcon library there is no key; nothing is issued, but validation still answers (P-AD-05).
        if self._key is None:
            raise build_unavailable()
        # A new id for each token, by which its users can refuse a repetition.
        jti = str(uuid.uuid4())
        payload = token_payload(credentials, issuer=self._did, audience=audience, now=now, jti=jti)
        return with_signature(payload, self._key.kid, await self._key.sign(signed_bytes(payload)))


def _describe_result(index: int, judgement: Judgement) -> dict[str, Any]:
    alg = None if judgement.envelope is None else judgement.envelope.alg
    return {"index": index, **judgement.members, "alg": alg}


ADDON = Addon("federation-validator", 8092, operations, openapi="federation_validator.json")
