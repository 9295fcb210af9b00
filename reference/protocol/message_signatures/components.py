"""Derived components: what a signature can cover of a request besides its fields (RFC 9421 section 2.2; P-AG-01)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.signature_input import Component

_DEFAULT_PORTS = {"https": ":443", "http": ":80"}


def method(request: MessageRequest) -> str:
    """`@method`: the method, its case kept."""
    return request.method


def authority(request: MessageRequest) -> str:
    """`@authority`: lower case, without the scheme's default port."""
    return request.authority.lower().removesuffix(_DEFAULT_PORTS.get(scheme(request), "\0"))


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
    """`@status`: the response's status.

    Raises:
        Fault: missing_component, for a message without one.
    """
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


def query_parameter(request: MessageRequest, component: Component) -> str:
    """`@query-param`: the one value of a query parameter, encoded as a form writes it, spaces as `%20`.

    Raises:
        Fault: unsupported_component without exactly the parameter `name`, or when the query repeats the name (RFC 9421
            section 2.2.8 forbids to cover it then); missing_component when the query has no such parameter.
    """
    name = component.parameters.get("name")
    if type(name) is not str or len(component.parameters) != 1:
        raise Fault("unsupported_component", f"{component.identifier}: @query-param needs exactly the parameter name")
    values = request.query_parameters.get(name, ())
    if not values:
        raise Fault("missing_component", f"{component.identifier} is covered and the query has no such parameter")
    if len(values) > 1:
        raise Fault("unsupported_component", f"{component.identifier}: the query repeats it; cover @query instead")
    return values[0]
