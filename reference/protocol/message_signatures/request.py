"""The request body of verify and explain: the signed message and the key that the caller expects (6.2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from reference.protocol.keys import from_base64
from reference.protocol.message_signatures.algorithms import ED25519, ExpectedKey
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.key_texts import did_bytes, fault_of_did_key, fault_of_hex
from reference.protocol.message_signatures.message import Message


class MessageRequest(BaseModel):
    """A signed HTTP request; unknown members are tolerated."""

    # `hide_input_in_errors`: an item of a 422 never repeats what was sent (6.2).
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    mode: Literal["rfc9421"] = "rfc9421"
    method: str
    authority: str
    path: str
    query: str | None = None
    headers: dict[str, str | list[str]]
    body_b64: str = ""
    scheme: str = "https"
    status: int | None = None
    public_key_hex: str | None = None
    did_key: str | None = None
    require_content_digest: bool = True
    label: str | None = None
    expected_tag: str | None = None
    allowed_algorithms: list[str] = Field(default_factory=lambda: ["ed25519"])
    max_age_seconds: int | None = None
    now: int | None = None
    required_components: list[str] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _representable(cls, value: Any) -> Any:
        if isinstance(value, dict):
            check_representable(cls, value)
        return value

    @field_validator("body_b64")
    @classmethod
    def _standard_base64(cls, text: str) -> str:
        return standard_base64(text)

    @field_validator("public_key_hex")
    @classmethod
    def _key_in_hex(cls, text: str | None) -> str | None:
        return _without(text, fault_of_hex, "public_key_hex")

    @field_validator("did_key")
    @classmethod
    def _did_of_ed25519(cls, text: str | None) -> str | None:
        return _without(text, fault_of_did_key, "did_key")

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.public_key_hex is not None and self.did_key is not None and self.key_bytes() != did_bytes(self.did_key):
            raise PydanticCustomError("different_keys", "public_key_hex and did_key name different keys")
        return self

    @property
    def body(self) -> bytes:
        """The message's content."""
        return from_base64(self.body_b64)

    def message(self) -> Message:
        """Return the signed message; with a status it is a response, which has no target (RFC 9421 2.2)."""
        if self.status is not None:
            return Message(Fields(self.headers), self.body, status=self.status)
        path, mark, inside = self.path.partition("?")
        return Message(
            Fields(self.headers),
            self.body,
            self.method,
            self.authority,
            path or "/",
            inside if mark else self.query,  # the query inside `path` goes first (6.2)
            self.scheme,
        )

    def expected_key(self) -> ExpectedKey | None:
        """Return the key that the caller expects the signer to hold, or None if the caller names no key."""
        return _expected_key(self.public_key_hex, self.did_key)

    def key_bytes(self) -> bytes | None:
        """Return the expected key's 32 bytes, or None when the caller gave none."""
        key = self.expected_key()
        return None if key is None else key.material


class MessageVerifyRequest(MessageRequest):
    """Body of verify: a key is required."""

    @model_validator(mode="after")
    def _some_key(self) -> Self:
        if self.key_bytes() is None:
            raise PydanticCustomError("missing_key", "give public_key_hex or did_key of the expected signer")
        return self


class ClosedMessageVerifyRequest(MessageVerifyRequest):
    """Body of the paid twin: unknown members are refused (P-CV-14)."""

    model_config = ConfigDict(extra="forbid")


@lru_cache(maxsize=512)
def _expected_key(in_hex: str | None, did_key: str | None) -> ExpectedKey | None:
    if in_hex is not None:
        return ExpectedKey(ED25519, bytes.fromhex(in_hex))
    return None if did_key is None else ExpectedKey(ED25519, did_bytes(did_key))


def check_representable(model: type[BaseModel], members: dict[Any, Any]) -> None:
    """Refuse what JSON can carry and RFC 8785 cannot, in the members that a model knows (P-CV-20).

    Raises:
        PydanticCustomError: An integer beyond ±(2^53 - 1) or a lone surrogate; no known member takes a fraction.
    """
    known_fields = model.model_fields
    try:
        orjson.dumps(
            {name: value for name, value in members.items() if name in known_fields}, option=orjson.OPT_STRICT_INTEGER
        )
    except orjson.JSONEncodeError as fault:
        raise PydanticCustomError("not_canonical", "keep integers within 2^53 - 1 and text in Unicode") from fault


def standard_base64(text: str) -> str:
    """Return `text` when it is standard base64 with padding and no spare bits.

    Raises:
        PydanticCustomError: It is not.
    """
    try:
        from_base64(text)
    except ValueError as fault:
        raise PydanticCustomError("base64", "standard base64 with padding") from fault
    return text


def _without(text: str | None, fault_of: Callable[[str], str | None], kind: str) -> str | None:
    fault = None if text is None else fault_of(text)
    if fault is not None:
        raise PydanticCustomError(kind, "{fault}", {"fault": fault})
    return text
