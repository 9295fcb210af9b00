"""Derived components: parts of a message other than fields that a signature can cover (RFC 9421 2.2; P-AG-01)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.signature_input import Component

Part = TypeVar("Part", str, int)
_DEFAULT_PORTS = {"https": ":443", "http": ":80"}


class _PartAbsent(Exception):
    """The message is of another kind: a response has no method, a request no status."""


def method(message: Message) -> str:
    """`@method`: the method, its case kept."""
    return _require_part(message.method)


def authority(message: Message) -> str:
    """`@authority`: lower case, without an empty port or the scheme's default one (RFC 9110 section 4.2.3)."""
    # An empty port is treated as no port; RFC 9421 leaves this open (decision 0023).
    text = _require_part(message.authority).lower()
    return text.removesuffix(_DEFAULT_PORTS.get(scheme(message), ":")).removesuffix(":")


def scheme(message: Message) -> str:
    """`@scheme`: lower case."""
    return _require_part(message.scheme).lower()


def path(message: Message) -> str:
    """`@path`: the path up to the first `?`, unchanged."""
    return _require_part(message.path)


def query(message: Message) -> str:
    """`@query`: `?` and the query; `?` alone if the target has no query."""
    _require_part(message.path)
    return "?" + (message.query or "")


def request_target(message: Message) -> str:
    """`@request-target`: path and query as on the request line."""
    return _require_part(message.path) + ("" if message.query is None else "?" + message.query)


def target_uri(message: Message) -> str:
    """`@target-uri`: the whole address."""
    return f"{scheme(message)}://{authority(message)}{request_target(message)}"


def status(message: Message) -> str:
    """`@status`: the response's status."""
    return str(_require_part(message.status))


DERIVED_COMPONENTS: Mapping[str, Callable[[Message], str]] = {
    "@method": method,
    "@authority": authority,
    "@scheme": scheme,
    "@path": path,
    "@query": query,
    "@request-target": request_target,
    "@target-uri": target_uri,
    "@status": status,
}


def derive_component(message: Message, component: Component) -> str:
    """Return the value of a derived component.

    Raises:
        Fault: unsupported_component for a name or a parameter that is not known, and for a part of a request in a
            response; missing_component for a request's status.
    """
    derive = DERIVED_COMPONENTS.get(component.name)
    parameters = component.parameters
    # `@status` with `req` is refused: a related request has no status.
    if derive is not None and (not parameters or (parameters.keys() == {"req"} and derive is not status)):
        try:
            return derive(message)
        except _PartAbsent:
            if derive is status:
                raise Fault("missing_component", '"@status" is covered and the message has none') from None
            sentence = f"{component.identifier} is of a request; a response covers it with parameter req"
            raise Fault("unsupported_component", sentence) from None
    if component.name == "@query-param":
        if message.path is None:
            raise Fault("unsupported_component", f"{component.identifier} is of a request; cover it with parameter req")
        return _query_parameter(message, component)
    raise Fault("unsupported_component", f"{component.identifier} is not known")


def _query_parameter(message: Message, component: Component) -> str:
    """`@query-param`: the one value of a query parameter, encoded as a form writes it, spaces as `%20`.

    Raises:
        Fault: unsupported_component without exactly the parameter `name`, or when the query repeats the name (RFC 9421
            section 2.2.8 forbids to cover it then); missing_component when the query has no such parameter.
    """
    name = component.parameters.get("name")
    if type(name) is not str or not component.parameters.keys() <= {"name", "req"}:
        raise Fault("unsupported_component", f"{component.identifier}: @query-param needs exactly the parameter name")
    values = message.query_parameters.get(name, ())
    if not values:
        raise Fault("missing_component", f"{component.identifier} is covered and the query has no such parameter")
    # RFC 9421 2.2.8: if a parameter name occurs multiple times in a request, the named query parameter must not be
    # included. Two parsers could pick different ones.
    if len(values) > 1:
        raise Fault("unsupported_component", f"{component.identifier}: the query repeats it; cover @query instead")
    return values[0]


def _require_part(part: Part | None) -> Part:
    if part is None:
        raise _PartAbsent
    return part
