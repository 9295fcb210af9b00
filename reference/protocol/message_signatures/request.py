"""What verify and explain are asked: the signed message and the key the caller expects (profile 6.2)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self
from urllib.parse import parse_qsl, quote

import base58
import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from reference.protocol.keys import KEY_BYTES, KeyRejected, public_key_from_did_key


class MessageRequest(BaseModel):
    """A signed HTTP request; unknown members are tolerated."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    method: str
    authority: str
    path: str
    query: str | None = None
    headers: dict[str, str | list[str]]
    body_b64: str = ""
    scheme: str = "https"
    status: int | None = None
    public_key_hex: Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$")] | None = None
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

    @field_validator("did_key")
    @classmethod
    def _did_of_ed25519(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                public_key_from_did_key(text)
            except ValueError as fault:
                # A bad point in a well-formed did:key is for the verdict, like one in hex.
                if not isinstance(fault, KeyRejected) or len(did_bytes(text)) != KEY_BYTES:
                    raise PydanticCustomError("did_key", "did:key:z… of an Ed25519 key") from fault
        return text

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.public_key_hex is not None and self.did_key is not None and self.key_bytes() != did_bytes(self.did_key):
            raise PydanticCustomError("different_keys", "public_key_hex and did_key name different keys")
        return self

    @cached_property
    def body(self) -> bytes:
        """The message's content."""
        return base64.b64decode(self.body_b64)

    @property
    def path_only(self) -> str:
        """The path up to the first `?`; an empty one is `/` (P-AG-01)."""
        return self.path.partition("?")[0] or "/"

    @property
    def query_only(self) -> str | None:
        """The query without `?`, or None when there is none; the one inside `path` wins."""
        _, mark, inside = self.path.partition("?")
        return inside if mark else self.query

    @cached_property
    def query_parameters(self) -> Mapping[str, list[str]]:
        """The query read as a form: encoded name to encoded values (RFC 9421 section 2.2.8)."""
        parameters: dict[str, list[str]] = {}
        for name, value in parse_qsl(self.query_only or "", keep_blank_values=True):
            parameters.setdefault(_form_encoded(name), []).append(_form_encoded(value))
        return parameters

    def key_bytes(self) -> bytes | None:
        """Return the expected key's 32 bytes, or None when the caller gave none."""
        if self.public_key_hex is not None:
            return bytes.fromhex(self.public_key_hex)
        return None if self.did_key is None else did_bytes(self.did_key)


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


def check_representable(model: type[BaseModel], members: dict[Any, Any]) -> None:
    """Refuse what JSON can carry and RFC 8785 cannot, in the members that a model knows (P-CV-20).

    Raises:
        PydanticCustomError: An integer beyond ±(2^53 - 1) or a lone surrogate; no known member takes a fraction.
    """
    known = model.model_fields
    try:
        orjson.dumps(
            {name: value for name, value in members.items() if name in known}, option=orjson.OPT_STRICT_INTEGER
        )
    except orjson.JSONEncodeError as fault:
        raise PydanticCustomError("not_canonical", "keep integers within 2^53 - 1 and text in Unicode") from fault


def standard_base64(text: str) -> str:
    """Return `text` when it is standard base64 with padding and no spare bits.

    Raises:
        PydanticCustomError: It is not.
    """
    try:
        if base64.b64encode(base64.b64decode(text, validate=True)).decode() == text:
            return text
    except (binascii.Error, ValueError):
        pass
    raise PydanticCustomError("base64", "standard base64 with padding")


def _form_encoded(text: str) -> str:
    return quote(text, safe="*").replace("~", "%7E")


def did_bytes(did_key: str) -> bytes:
    """Return the 32 bytes that a well-formed did:key holds, whether or not they are a good point."""
    return base58.b58decode(did_key.removeprefix("did:key:z"))[2:]
