"""Registration and revocation of issuers, and publication of the trust set (7.1, 7.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, StrictStr

from reference.control_plane.audit_log import AuditLog, PlannedChange, ignore_number
from reference.control_plane.call_context import Call, build_not_found
from reference.protocol.audit_chain import Action
from reference.protocol.falcon import public_key_of
from reference.protocol.keys import falcon_kid
from reference.protocol.time_text import utc_text
from reference.protocol.trust_set import is_did, key_document, meant_by, trust_set
from reference.store.audit_log import Audit
from reference.store.database import Change
from reference.store.issuers import Issuer, Issuers
from reference.web.http.cached_document import Document
from reference.web.http.detail_error_replies import json_reply
from reference.web.http.exchange import Reply

ALGORITHM = "Falcon-1024"


def _check_did(text: str) -> str:
    if not is_did(text):
        raise ValueError("give a DID of at most 512 characters, like did:web:issuer.example")
    return text


def _check_key(text: str) -> str:
    public_key_of(text)
    return text


class NewIssuer(BaseModel):
    """An issuer with its key (P-CP-01); unknown members are ignored (P-CV-14)."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    did: Annotated[StrictStr, AfterValidator(_check_did)]
    public_key_b64: Annotated[StrictStr, AfterValidator(_check_key)]


class IssuerRegister:
    """The register of trusted issuers."""

    def __init__(self, issuers: Issuers, log: AuditLog) -> None:
        self._issuers = issuers
        self._log = log

    async def register(self, call: Call) -> Reply:
        """Answer POST /v1/issuers: 201 for a new issuer, 200 for a recorded one; another key replaces its key."""
        request: NewIssuer = call.content
        # The key id is computed from the key, so a caller cannot choose that of another issuer (P-KY-09).
        kid = falcon_kid(public_key_of(request.public_key_b64))

        async def decide(now: int) -> tuple[tuple[int, int], PlannedChange | None]:
            recorded_issuer = await self._issuers.get(request.did)
            # The same key again is no change of trust, and makes no entry.
            if recorded_issuer is not None and recorded_issuer.public_key_b64 == request.public_key_b64:
                return (200, recorded_issuer.created_at), None

            def change(seq: int) -> Change:
                issuer = Issuer(request.did, seq, request.public_key_b64, kid, now)
                return (
                    self._issuers.build_insert(issuer)
                    if recorded_issuer is None
                    else self._issuers.build_rotation(issuer)
                )

            if recorded_issuer is None:
                return (201, now), PlannedChange(Action.ISSUER_REGISTERED, request.did, {"kid": kid}, change)
            record = {"kid": kid, "previous_kid": recorded_issuer.kid}
            return (200, now), PlannedChange(Action.ISSUER_ROTATED, request.did, record, change)

        status, created_at = await self._log.change(decide)
        record = {"did": request.did, "kid": kid, "alg": ALGORITHM, "created_at": utc_text(created_at)}
        return json_reply(record, status)

    async def revoke(self, call: Call) -> Reply:
        """Answer DELETE /v1/issuers/{did}."""
        # `%3A` is part of the name of a did:web and also the usual form of a colon in a path (decision 0027).
        dids = [text for text in meant_by(call.segment) if is_did(text)]

        async def decide(_: int) -> tuple[bool, PlannedChange | None]:
            for did in dids:
                issuer = await self._issuers.get(did)
                if issuer is not None:
                    revocation = ignore_number(self._issuers.build_revocation(did))
                    return True, PlannedChange(Action.ISSUER_REVOKED, did, {"kid": issuer.kid}, revocation)
            return False, None

        if not await self._log.change(decide):
            raise build_not_found()
        return Reply(204, b"", {})


class TrustDocuments:
    """The published trust set; its documents are made again only after a change."""

    def __init__(self, issuers: Issuers, audit: Audit, did: str, began_at: int) -> None:
        """Take the issuers and the publisher.

        Args:
            issuers: The issuers.
            audit: The time of the last change of the trust set.
            did: DID of the publisher.
            began_at: Unix seconds from which an empty set is published.
        """
        self._issuers = issuers
        self._audit = audit
        self._did = did
        self._began_at = began_at
        self._cache: dict[str, tuple[object, Document]] = {}

    async def serve_trust_set(self, call: Call) -> Reply:
        """Answer GET /v1/issuer-pks."""
        return await self._answer(call, lambda issuers, _: orjson.dumps(trust_set(issuers)))

    async def serve_keys(self, call: Call) -> Reply:
        """Answer GET /.well-known/atb-keys.json and /.well-known/pqc-keys.json."""
        return await self._answer(
            call, lambda issuers, updated_at: orjson.dumps(key_document(self._did, utc_text(updated_at), issuers))
        )

    async def _answer(self, call: Call, write: Callable[[Sequence[Issuer], int], bytes]) -> Reply:
        # Read before the issuers: the cached document may be newer than its version, but never older.
        last = await self._audit.last_trust_change()
        cached = self._cache.get(call.request.path)
        if cached is None or cached[0] != last:
            updated_at = self._began_at if last is None else last[1] // 1000
            # no-cache, not no-store: clients may keep it if they ask with its tag before each use.
            document = Document(write(await self._issuers.list_all(), updated_at), "no-cache")
            cached = self._cache[call.request.path] = last, document
        return call.reply_with_document(cached[1])
