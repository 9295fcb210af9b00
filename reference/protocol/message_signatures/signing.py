"""Demo signing with a key that exists for one call only and is passed in (6.5)."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import http_sf
from nacl.signing import SigningKey
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from reference.protocol.keys import PublicKey
from reference.protocol.message_signatures import content_digest
from reference.protocol.message_signatures.algorithms import ED25519
from reference.protocol.message_signatures.base import build, is_compatibility_name
from reference.protocol.message_signatures.faults import PARAMETERS
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.request import MessageRequest, check_representable, standard_base64
from reference.protocol.message_signatures.signature_input import Component, SignatureInput, params_text
from reference.protocol.message_signatures.verdict import judge

LIFETIME_SECONDS = 300
NOTE = "Signed with a key made for this call; its private half is gone. Use it to try verifiers, for nothing else."
# A request with one of these members is refused and its value is never echoed (6.5). The caller learns so that the
# key was sent to a place where it does not belong.
PRIVATE_KEY_MEMBERS = (
    "private_key",
    "private_key_hex",
    "private_key_b64",
    "private_key_pem",
    "secret_key",
    "signing_key",
)

Text = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]*$")]
Label = Annotated[str, StringConstraints(pattern=r"^[a-z*][a-z0-9_.*-]*$")]
Moment = Annotated[int, Field(ge=-(10**15) + 1, le=10**15 - LIFETIME_SECONDS - 1)]


class NotSignable(ValueError):
    """The request is well-formed, but no valid signature with these components can be made for it.

    Attributes:
        detail: `detail` items of a 422, each with `loc`, `msg` and `type`.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__("; ".join(sentences))
        self.detail = [
            {"loc": ["body", "covered_components"], "msg": sentence, "type": "not_signable"} for sentence in sentences
        ]


class SignRequest(BaseModel):
    """Body of sign; unknown members are tolerated, private keys never."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    method: str
    authority: str
    path: str
    scheme: str = "https"
    query: str | None = None
    headers: dict[str, str | list[str]] = Field(default_factory=dict)
    body_b64: str | None = None
    body: str | None = None
    covered_components: list[str] | None = None
    created: Moment | None = None
    expires: Moment | None = None
    nonce: Text | None = None
    tag: Text | None = None
    label: Label = "sig"
    keyid: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _no_private_key(cls, value: Any) -> Any:
        if isinstance(value, dict):
            if any(name in value for name in PRIVATE_KEY_MEMBERS):
                raise PydanticCustomError(
                    "private_key_refused", "private keys are never accepted; leave them out and keep them to yourself"
                )
            check_representable(cls, value)
        return value

    @field_validator("body_b64")
    @classmethod
    def _standard_base64(cls, text: str | None) -> str | None:
        return None if text is None else standard_base64(text)

    @field_validator("covered_components")
    @classmethod
    def _component_identifiers(cls, names: list[str] | None) -> list[str] | None:
        for name in names or ():
            try:
                Component.from_text(name)
            except ValueError as fault:
                raise PydanticCustomError("component", "a component is a name like @method or content-type") from fault
        return names

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        if self.body is not None and self.body_b64 not in {None, base64.b64encode(self.body.encode()).decode()}:
            raise PydanticCustomError("different_bodies", "body and body_b64 hold different content; give one of them")
        return self

    @property
    def content(self) -> bytes:
        """The message's content."""
        return base64.b64decode(self.body_b64 or "") if self.body is None else self.body.encode()

    @property
    def target(self) -> str:
        """Path and query in one text."""
        return self.path if "?" in self.path or self.query is None else f"{self.path}?{self.query}"

    def message(self, fields: Fields) -> Message:
        """Return the message to sign, with these fields."""
        path, mark, query = self.target.partition("?")
        query_or_none = query if mark else None
        return Message(fields, self.content, self.method, self.authority, path or "/", query_or_none, self.scheme)

    def components(self) -> tuple[Component, ...]:
        """Return what to cover, in order (P-SG-02); a body is always covered by its digest."""
        names = self.covered_components
        if names is None:
            names = ["@method", "@authority", "@path", *(["@query"] if "?" in self.target else [])]
        components = [Component.from_text(name) for name in names]
        if self.content and not content_digest.is_covered(components):
            components.append(Component(content_digest.FIELD))
        return tuple(components)


def sign(request: SignRequest, *, seed: bytes, now: int) -> dict[str, Any]:
    """Return the signed request with everything needed to verify it (P-SG-04); verify takes it as it is.

    Args:
        request: What to sign.
        seed: 32 fresh random bytes, the demo key of this call (P-SG-01).
        now: Unix seconds.

    Raises:
        NotSignable: A covered component is absent, unknown or repeated, or nothing is covered.
    """
    key = SigningKey(seed)  # the library's own: `keys.SigningKey` remembers those that come again
    public = PublicKey(bytes(key.verify_key))
    components = request.components()
    parameters = _parameters(request, public, now)
    headers = _headers_to_sign(request, components)
    fields = Fields(headers)
    base = _base_text(request.message(fields), SignatureInput(request.label, components, parameters, b""))
    signature = key.sign(base.encode("ascii")).signature
    signature_headers = {
        "Signature-Input": f"{request.label}={params_text(components, parameters)}",
        "Signature": f"{request.label}={http_sf.ser(signature)}",
    }
    answer = {
        "method": request.method,
        "authority": request.authority,
        "path": request.target,
        "scheme": request.scheme,
        "headers": _with_signature(headers, fields, signature_headers),
        "body_b64": base64.b64encode(request.content).decode(),
        "signature_base": base,
        "signing_base": base,
        "covered_components": [component.plain for component in components],
        "parameters": parameters,
        "label": request.label,
        "created": parameters["created"],
        "keyid": parameters["keyid"],
        "algorithm": ED25519,
        "public_key_hex": public.raw.hex(),
        "did_key": public.did_key,
        "ephemeral": True,
        "note": NOTE,
    }
    _check_valid(answer)
    return answer


def _parameters(request: SignRequest, key: PublicKey, now: int) -> dict[str, int | str]:
    """Return the signature's parameters in the order of P-SG-03."""
    created = now if request.created is None else request.created
    parameters: dict[str, int | str] = {
        "created": created,
        "expires": created + LIFETIME_SECONDS if request.expires is None else request.expires,
        "keyid": key.did_key if request.keyid is None else request.keyid,
        "alg": ED25519,
    }
    optional = {"nonce": request.nonce, "tag": request.tag}
    return parameters | {name: value for name, value in optional.items() if value is not None}


def _headers_to_sign(request: SignRequest, components: Sequence[Component]) -> dict[str, str | list[str]]:
    """Return the given headers, with a computed Content-Digest if there is a body, a digest or a cover of one."""
    field = content_digest.FIELD
    headers = {name: value for name, value in request.headers.items() if name.lower() != field}
    digest_components = [component for component in components if component.name == field]
    if not request.content and not digest_components and len(headers) == len(request.headers):
        return headers
    algorithms = {"sha-256", *(component.parameters.get("key") for component in digest_components)}
    digests = [name for name in content_digest.ALGORITHMS if name in algorithms]
    return headers | {
        "Content-Digest": ", ".join(f"{name}=:{content_digest.compute(name, request.content)}:" for name in digests)
    }


def _base_text(message: Message, signature_input: SignatureInput) -> str:
    base = build(message, signature_input)
    sentences = [fault.sentence for fault in base.faults]
    sentences += [
        f"{component.identifier} is a signature parameter, not a component; every signature covers it as it is"
        for component in signature_input.components
        if is_compatibility_name(message, signature_input, component)
    ]
    if sentences:
        raise NotSignable(sentences)
    return base.text


def _with_signature(
    headers: dict[str, str | list[str]], fields: Fields, signature_headers: Mapping[str, str]
) -> dict[str, str | list[str]]:
    """Return the headers with a member added to each of the two signature fields, behind those already there."""
    names = {name.lower() for name in signature_headers}
    other_headers = {name: value for name, value in headers.items() if name.lower() not in names}
    return other_headers | {
        name: ", ".join(filter(None, (fields.combine(name.lower()), text))) for name, text in signature_headers.items()
    }


def _check_valid(answer: Mapping[str, Any]) -> None:
    """Refuse what verify would not take, like a cover of a field that the signature itself changes.

    The caller chooses the times, so a signature that has expired is not one of its faults.
    """
    verdict = judge(MessageRequest.model_validate(answer), now=answer["created"])
    sentences = [fault.sentence for fault in verdict.faults if fault.code not in PARAMETERS]
    if sentences:
        raise NotSignable(sentences)
