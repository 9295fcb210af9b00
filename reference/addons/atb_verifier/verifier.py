"""The verifier of ATB credentials: POST /v1/verify (8.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator

from reference.addons.falcon_library import find_library
from reference.addons.kit import Addon, Call, Context, Handler
from reference.protocol import falcon
from reference.protocol.credentials import Judgement, Question, judge
from reference.protocol.issuer_key_documents import ATB_KEYS, keys_of_key_document
from reference.protocol.time_text import unix_of
from reference.web.control_plane_link.link import KeySource
from reference.web.errors import Unprocessable
from reference.web.http.json_body import as_model

HEADER = "x-atb-credential"
Text = Annotated[str, Field(strict=True)]


class VerifyRequest(BaseModel):
    """A request to verify; the credential may be in a header instead."""

    credential: Text | None = None
    expected_issuer: Text | None = None
    min_score: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    now: Text | None = None

    @field_validator("now")
    @classmethod
    def _is_an_instant(cls, now: str | None) -> str | None:
        if now is not None:
            unix_of(now)
        return now


def operations(context: Context) -> Mapping[str, Handler]:
    """Return the verifier's operations."""
    verifier = Verifier(context, find_library())
    return {"POST /v1/verify": verifier.verify}


class Verifier:
    """Judges credentials by the keys of the hub's atb-keys.json."""

    def __init__(self, context: Context, library: falcon.Library | None) -> None:
        self._context = context
        self._library = library

    async def verify(self, call: Call) -> dict[str, Any]:
        """Answer one call: 200 also for invalid credentials (P-AD-07)."""
        request, credential = _read_credential(call)
        # A caller may ask about another time, for example that of a past payment.
        now = self._context.clock.now() if request.now is None else unix_of(request.now)
        question = Question(now, self._context.skew, request.expected_issuer, request.min_score)
        return _as_json(judge(credential, question, self._context.keys(), self._library))


def _read_credential(call: Call) -> tuple[VerifyRequest, str]:
    fields = call.request.headers.get(HEADER, ())
    # With the credential in the header, an empty body is complete.
    request = as_model(VerifyRequest, {} if fields and not call.request.body else call.json())
    # A set: the same credential in header and body is one. Two different ones are refused, since the caller could not
    # know which was judged.
    texts = {*fields, *([] if request.credential is None else [request.credential])}
    if len(texts) != 1:
        sentence = "send one credential, in the body or in header X-ATB-Credential"
        raise Unprocessable(
            [{"loc": ["body", "credential"], "msg": sentence, "type": "value_error" if texts else "missing"}]
        )
    return request, texts.pop()


def _as_json(judgement: Judgement) -> dict[str, Any]:
    return {**judgement.members, "payload": judgement.verified_payload, "content_hash": judgement.content_hash}


ADDON = Addon(
    "atb-credential-verifier",
    8095,
    operations,
    # The interface has this addon read atb-keys.json instead of the trust set (8.2).
    source=KeySource(ATB_KEYS, keys_of_key_document),
    openapi="atb_verifier.json",
)
