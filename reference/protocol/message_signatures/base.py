"""The signature base: one line a covered component, then the parameters (RFC 9421 section 2)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote

import http_sf
from http_sf.errors import StructuredFieldError
from http_sf.list import ser_list

from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.signature_input import Component, SignatureInput

_DEFAULT_PORTS = {"https": ":443", "http": ":80"}
_STRUCTURED: Mapping[str, str] = {
    "accept": "list",
    "accept-encoding": "list",
    "accept-language": "list",
    "cache-control": "dictionary",
    "content-digest": "dictionary",
    "content-length": "item",
    "content-type": "item",
    "priority": "dictionary",
    "repr-digest": "dictionary",
    "signature": "dictionary",
    "signature-input": "dictionary",
    "want-content-digest": "dictionary",
}
_FIELD_PARAMETERS = frozenset({"sf", "key", "bs"})


@dataclass(frozen=True, slots=True)
class Base:
    """The signature base as far as it could be made.

    Attributes:
        text: Its text; a component that could not be found is left out.
        faults: What stood in the way.
    """

    text: str
    faults: tuple[Fault, ...]


def build(request: MessageRequest, fields: Fields, chosen: SignatureInput) -> Base:
    """Return the signature base of one labelled signature."""
    lines: list[str] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    if not chosen.components:
        faults.append(Fault("empty_components", "the signature covers nothing"))
    for component in chosen.components:
        if component.identifier in seen:
            faults.append(Fault("duplicate_component", f"{component.identifier} is covered twice"))
            continue
        seen.add(component.identifier)
        try:
            lines += [f"{component.identifier}: {value}" for value in _values(request, fields, chosen, component)]
        except Fault as fault:
            faults.append(fault)
    lines.append(f'"@signature-params": {chosen.params_text}')
    return Base("\n".join(lines), tuple(faults))


def _values(request: MessageRequest, fields: Fields, chosen: SignatureInput, component: Component) -> list[str]:
    names = {name for name, _ in component.parameters}
    if names & {"req", "tr"}:
        raise Fault("unsupported_component", f"{component.identifier}: req and tr need a message that is not here")
    if component.name == "@query-param":
        return _query_parameters(request, component, names)
    if component.name.startswith("@"):
        derive = DERIVED.get(component.name)
        if derive is None or names:
            raise Fault("unsupported_component", f"{component.identifier} is not known")
        return [derive(request)]
    if component.name != component.name.lower() or not names <= _FIELD_PARAMETERS:
        raise Fault("unsupported_component", f"{component.identifier} is not known")
    return [_field(fields, chosen, component)]


def method(request: MessageRequest) -> str:
    """`@method`: the method, its case kept."""
    return request.method


def authority(request: MessageRequest) -> str:
    """`@authority`: lower case, without the scheme's default port."""
    return request.authority.lower().removesuffix(_DEFAULT_PORTS.get(request.scheme.lower(), "\0"))


def scheme(request: MessageRequest) -> str:
    """`@scheme`: lower case."""
    return request.scheme.lower()


def path(request: MessageRequest) -> str:
    """`@path`: up to the first `?`, otherwise untouched."""
    return request.path_only


def query(request: MessageRequest) -> str:
    """`@query`: `?` and the query; `?` alone when there is none."""
    return "?" + (request.query_only or "")


def request_target(request: MessageRequest) -> str:
    """`@request-target`: path and query as on the request line."""
    return request.path_only + ("" if request.query_only is None else "?" + request.query_only)


def target_uri(request: MessageRequest) -> str:
    """`@target-uri`: the whole address."""
    return f"{scheme(request)}://{authority(request)}{request_target(request)}"


def status(request: MessageRequest) -> str:
    """`@status`: the response's status."""
    if request.status is None:
        raise Fault("missing_component", '"@status" is covered and the message has none')
    return str(request.status)


DERIVED: Mapping[str, Callable[[MessageRequest], str]] = {
    "@method": method,
    "@authority": authority,
    "@scheme": scheme,
    "@path": path,
    "@query": query,
    "@request-target": request_target,
    "@target-uri": target_uri,
    "@status": status,
}


def _query_parameters(request: MessageRequest, component: Component, names: set[str]) -> list[str]:
    wanted = component.parameter("name")
    if names != {"name"} or type(wanted) is not str:
        raise Fault("unsupported_component", '"@query-param" needs exactly the parameter name')
    pairs = parse_qsl(request.query_only or "", keep_blank_values=True)
    values = [_encoded(value) for name, value in pairs if _encoded(name) == wanted]
    if not values:
        raise Fault("missing_component", f"{component.identifier} is covered and the query has no such parameter")
    return values


def _encoded(text: str) -> str:
    return quote(text, safe="*-._")


def _field(fields: Fields, chosen: SignatureInput, component: Component) -> str:
    text = fields.combined(component.name)
    if text is None:
        if component.name in {"created", "expires"} and component.name in chosen.parameters:
            return str(chosen.parameters[component.name])  # compatibility, P-AG-07
        raise Fault("missing_component", f"{component.identifier} is covered and absent from the message")
    if component.parameter("bs") is True:
        if component.parameter("sf") or component.parameter("key"):
            raise Fault("unsupported_component", f"{component.identifier}: bs stands alone")
        return ", ".join(f":{base64.b64encode(one.encode()).decode()}:" for one in fields.values(component.name))
    key = component.parameter("key")
    if key is None and component.parameter("sf") is None:
        return text
    return _structured(component, text, key)


def _structured(component: Component, text: str, key: Any) -> str:
    kind = "dictionary" if key is not None else _STRUCTURED.get(component.name)
    if kind is None:
        raise Fault("unsupported_component", f"{component.identifier}: not known to be a structured field")
    try:
        parsed: Any = http_sf.parse(text.encode("ascii"), tltype=kind)
        if key is None:
            return str(http_sf.ser(parsed))
        if key not in parsed:
            raise Fault("missing_component", f"{component.identifier}: the dictionary has no such key")
        return _member(parsed[key])
    except (StructuredFieldError, UnicodeEncodeError, ValueError) as fault:
        raise Fault("missing_component", f"{component.identifier}: the field is no {kind}") from fault


def _member(value: Any) -> str:
    if isinstance(value, tuple) and isinstance(value[0], list):
        return str(ser_list([value]))
    return str(http_sf.ser(value))
