"""Provoked error answers of a gateway: every kind of error, with one fault in each call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.gateway.calls import (
    LINKS,
    RECEIPT_VERIFY,
    RESOURCES,
    SCREEN,
    link_body,
    resource_body,
    target_of,
)

# A well-formed id of a tenant that does not exist, so that only its being unknown is wrong.
_NOBODY = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Fault:
    """One call that must be answered with an error.

    Attributes:
        description: The fault, for the reader.
        method: HTTP method.
        path: Path below the gateway's address.
        body: Raw body, None for none.
        headers: Header fields.
    """

    description: str
    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


_JSON = {"content-type": "application/json"}


def open_faults() -> Iterator[Fault]:
    """Yield the faults that need no tenant."""
    yield Fault("an unknown path", "GET", "/v1/no-such-thing")
    yield Fault("an unknown path, posted to", "POST", "/v1/no-such-thing", b"{}", _JSON)
    yield Fault("an unknown path outside /v1", "GET", "/no-such-thing-either")
    yield Fault("a wrong method on receipt verification", "GET", RECEIPT_VERIFY)
    yield Fault("a wrong method on screening", "GET", SCREEN)
    yield Fault("a method that no endpoint has", "DELETE", RECEIPT_VERIFY)
    yield Fault("a body of another media type", "POST", RECEIPT_VERIFY, b"{}", {"content-type": "text/plain"})
    yield Fault("a screening of another media type", "POST", SCREEN, b"{}", {"content-type": "text/plain"})
    for path in (LINKS, RESOURCES):
        yield Fault(f"no credentials at {path}", "POST", path, b"{}", _JSON)
        wrong = {"Authorization": "Bearer nobodys-key", "X-Tenant-Id": _NOBODY, **_JSON}
        yield Fault(f"an unknown key at {path}", "POST", path, b"{}", wrong)


def tenant_faults(tenant: Credentials) -> Iterator[Fault]:
    """Yield the faults of a call with good credentials."""
    headers = tenant.headers
    for path in (LINKS, RESOURCES):
        yield Fault(f"another media type at {path}", "POST", path, b"{}", {"content-type": "text/plain", **headers})
        yield Fault(f"half an object at {path}", "POST", path, b'{"amount":', {**_JSON, **headers})
        yield Fault(f"an array at {path}", "POST", path, b"[]", {**_JSON, **headers})
        yield Fault(f"a number at {path}", "POST", path, b"5", {**_JSON, **headers})
        # The key is good and the tenant is not the key's: a gateway that checks them separately would let it pass.
        yield Fault(f"another tenant id at {path}", "POST", path, b"{}", {**_JSON, **headers, "X-Tenant-Id": _NOBODY})
        yield Fault(f"a wrong method at {path}", "DELETE", path, None, headers)


def value_faults(case: Case, tenant: Credentials) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (what, path, body) of creations with one wrong value."""
    yield "an amount that is a text", LINKS, link_body(case, tenant, amount="much")
    yield "an unknown network", LINKS, link_body(case, tenant, preferred_network="atlantis_testnet")
    yield "a label that is an object", LINKS, link_body(case, tenant, label={})
    if case.profile.gateway_bindings.resource_body is not None:
        body = resource_body(case)
        yield "a resource whose members are objects", RESOURCES, {name: {"x": 1} for name in body}


async def provoke_faults(case: Case) -> list[tuple[str, Answer]]:
    """Send every fault once and return what was answered with a client error, as (what, answer).

    What a gateway does not take for a fault is left out: which of them are errors is for other rows to say.

    Raises:
        Inconclusive: None of them was.
    """
    call = target_of(case)
    faults = list(open_faults())
    values: list[tuple[str, str, Mapping[str, Any]]] = []
    headers = case.session.tenants.headers()
    if headers:
        tenant = case.session.tenants.get()
        faults += tenant_faults(tenant)
        values = list(value_faults(case, tenant))
    body_answers = await run_concurrently(
        call(one.method, one.path, body=one.body, headers=one.headers) for one in faults
    )
    value_answers = await run_concurrently(
        call("POST", path, json_body=dict(body), headers=headers) for _, path, body in values
    )
    descriptions = [*(one.description for one in faults), *(what for what, _, _ in values)]
    answers = list(zip(descriptions, [*body_answers, *value_answers], strict=True))
    # Answers of 5xx are crashes, which the rows about robustness judge.
    errors = [(what, answer) for what, answer in answers if 400 <= answer.status < 500]
    if not errors:
        raise Inconclusive("no call was answered with a client error")
    return errors


# What HTTP has statuses for, and what a server in front of the service may refuse by itself (P-CV-16).
_TOO_LARGE = frozenset({413, 414, 431})
OF_THE_FRONT = OpenPoint(
    "what is too large may be refused by a server in front of the gateway, and whether its answers are the gateway's "
    "is open",
    "P-CV-16",
)


def _large_faults(headers: Mapping[str, str]) -> Iterator[Fault]:
    """Yield requests that are larger than others; how large one may be is left open."""
    large = json.dumps({"label": "x" * 100_000}).encode()
    yield Fault("a body of 100,000 bytes at receipt verification", "POST", RECEIPT_VERIFY, large, _JSON)
    yield Fault("a body of 100,000 bytes at links", "POST", LINKS, large, {**_JSON, **headers})
    yield Fault("a path of 10,000 bytes", "GET", "/v1/" + "x" * 10_000)
    yield Fault("a header field of 20,000 bytes", "GET", RECEIPT_VERIFY, None, {"X-Weldproof": "x" * 20_000})


async def provoke_size_refusals(case: Case) -> list[tuple[str, Answer]]:
    """Send what may be too large and return what was refused as that, as (what, answer); the rest says nothing."""
    call = target_of(case)

    async def send_fault(fault: Fault) -> tuple[str, Answer] | None:
        try:
            answer = await call(fault.method, fault.path, body=fault.body, headers=fault.headers)
        except Inconclusive as reason:  # who refuses before he has read all may end the connection
            case.note(f"{fault.description}: {reason}")
            return None
        return (fault.description, answer) if answer.status in _TOO_LARGE else None

    answers = await run_concurrently(map(send_fault, _large_faults(case.session.tenants.headers())))
    return [one for one in answers if one is not None]
