"""X-ROB-01 and X-JSON-02: hostile input is refused without a crash, and a refusal in JSON is valid JSON.

Over JSON-RPC a crash is an error object with the code of an internal error, whatever the HTTP status.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from conformance.discovery.operation_presence import asks_to_retry
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.fuzz import hostile_inputs
from conformance.http.client import Answer, Client, LateAnswer, Unreachable, read_retry_after
from conformance.http.raw import RawTransport
from conformance.http.trust import make_context
from conformance.oracles.strict_json import is_json_type, literal_faults
from conformance.outcome import Inconclusive
from conformance.surfaces import json_rpc
from conformance.surfaces.endpoints import Endpoint, list_endpoints
from conformance.surfaces.gateway.calls import CHECKOUT
from conformance.vocabulary.unanswered_calls import NO_ANSWER_IN_TIME, NO_CONNECTION, UNSENT

T = TypeVar("T")
_ROWS = ("X-ROB-01", "X-JSON-02")
_RAW_SECONDS = 5.0
# Inputs of one kind for an endpoint, if the target's pace is bounded or only its OpenAPI document names the endpoint.
_FEW = 12
# Inputs of one kind for an endpoint in a quick look.
_QUICK_FEW = 3
# One missing guard shows in hundreds of answers. The report needs only a few of them.
_MOST_REPORTED = 5
# Only a few requests run at the same time, because other checks wait for their answers from the same service.
_AT_ONCE = 6
# HTTP itself has these 5xx for methods, transfer codings and versions that a server does not know (RFC 9110, 15.6).
_PROTOCOL_ERRORS = frozenset({501, 505})
# A proxy in front of the service answers these for a Host that it does not know. The service has not seen the request.
_PROXY_ERRORS = frozenset({502, 503, 504})
_TOO_MANY_REQUESTS, _LONGEST_PAUSE_SECONDS = 429, 1.0
_FIX = (
    "Refuse an unreadable request with a 4xx. Parse in one place that turns every fault of the parser, the framework "
    "and the schema into a refusal. Use 5xx only for faults of your server."
)

_QUICK = sample("hostile inputs, some of a kind at each operation")


@dataclass(slots=True)
class Barrage:
    """Hostile requests to one surface, with counts of their answers and faults.

    `broken_calls` holds the last ones whose connection was closed without an answer: one of them may have ended the
    service.
    """

    case: Case
    surface: str
    answer_count: int = 0
    unanswered_count: int = 0
    crashes: Counter[str] = field(default_factory=Counter)
    json_faults: Counter[str] = field(default_factory=Counter)
    broken_calls: deque[tuple[str, Unreachable]] = field(default_factory=lambda: deque(maxlen=_AT_ONCE))

    def choose(self, inputs: Iterable[T], endpoint: Endpoint) -> list[T]:
        """Return the inputs to send: all, or a sample if the pace is bounded or only a document names the endpoint."""
        selection = list(inputs)
        if not endpoint.is_stated:
            selection = self.case.draw_part(selection, _FEW, "hostile inputs, at operations that only a document names")
        elif self.case.profile.pace.requests_per_second > 0:
            selection = self.case.draw_part(selection, _FEW, "hostile inputs, since the pace is bounded")
        return self.case.sample(selection, few=_QUICK_FEW)

    async def send(
        self,
        input_name: str,
        endpoint: Endpoint,
        *,
        body: bytes | None = None,
        headers: Sequence[tuple[str, str]],
        method: str | None = None,
        target: str | None = None,
        client: Client | None = None,
    ) -> None:
        """Send one request and judge its answer. A missing answer is not a 5xx, and is only counted.

        Args:
            input_name: Name of the input, for the report.
            endpoint: The operation.
            body: The body, if any.
            headers: All header fields.
            method: Another method than the operation's.
            target: Another request target than the operation's.
            client: Sends over raw connections, where the request may not be HTTP at all; 501 and 505 are then allowed.
        """
        url = endpoint.url if target is None else endpoint.base + target
        try:
            answer = await (client or self.case.client).call(
                method or endpoint.method, url, body=body, headers=headers, patient=False
            )
        except Unreachable as fault:
            self.unanswered_count += 1
            if not any(part in str(fault) for part in (NO_CONNECTION, NO_ANSWER_IN_TIME, UNSENT)):
                self.broken_calls.append((f"{input_name} ({endpoint.label})", fault))
            return
        if answer.status == _TOO_MANY_REQUESTS:
            # The limiter refused before any parser read the request, so the answer shows nothing about it.
            self.unanswered_count += 1
            await asyncio.sleep(min(read_retry_after(answer) or 0.0, _LONGEST_PAUSE_SECONDS))
            return
        self.answer_count += 1
        allowed_errors = frozenset() if client is None else _PROTOCOL_ERRORS
        names_host = any(name.lower() == "host" for name, _ in headers)
        self._judge(input_name, endpoint, answer, allowed_errors | _PROXY_ERRORS if names_host else allowed_errors)

    def _judge(
        self, input_name: str, endpoint: Endpoint, answer: Answer, allowed_errors: frozenset[int] = frozenset()
    ) -> None:
        where = {"operation": endpoint.label, "input": input_name}
        is_crash = answer.status >= 500 and not asks_to_retry(answer) and answer.status not in allowed_errors
        is_internal_error = json_rpc.error_code(answer) == json_rpc.INTERNAL_ERROR
        if is_crash or is_internal_error:
            self.crashes[endpoint.label] += 1
            if self.crashes[endpoint.label] <= _MOST_REPORTED:
                expectation, finding = (
                    "a refusal, no 5xx",
                    f"{answer.status}" + (", JSON-RPC's internal error" * is_internal_error),
                )
                self.case.expect("X-ROB-01", False, expectation, finding, exchange=answer, where=where)
        faults = literal_faults(answer.body) if is_json_type(answer.headers.get("Content-Type")) else []
        if faults:
            self.json_faults[endpoint.label] += 1
            if self.json_faults[endpoint.label] <= _MOST_REPORTED:
                self.case.expect("X-JSON-02", False, "JSON by RFC 8259", faults[:5], exchange=answer, where=where)

    async def finish(self, plain_operation: Endpoint) -> None:
        """Judge that no request crashed the surface, and that it still answers a plain call.

        Raises:
            Inconclusive: No request was answered, so it is unknown whether the surface ever answered.
        """
        call_plainly = partial(
            self.case.client.call,
            plain_operation.method,
            plain_operation.url,
            json_body=plain_operation.body,
            headers=plain_operation.headers,
        )
        try:
            try:
                answer = await call_plainly()
            except LateAnswer:
                # A service that is slow once may still be processing the requests before. It gets a second chance.
                answer = await call_plainly()
        except Unreachable as fault:
            # A surface that never answered in this run was not brought down by these requests.
            if not self.answer_count and not self.case.client.has_answered(plain_operation.url):
                raise Inconclusive(f"no request was answered, not even a plain call: {fault}") from fault
            finding = f"after {self.answer_count} hostile requests: {fault}"
            if self.broken_calls:
                finding += f"; the last broken connections: {', '.join(name for name, _ in self.broken_calls)}"
            self.case.expect(
                "X-ROB-01",
                False,
                "the service still answers",
                finding,
                exchange=self.broken_calls[-1][1] if self.broken_calls else None,
                where={"surface": self.surface},
            )
            return
        if not self.answer_count:
            raise Inconclusive("no hostile request was answered")
        self._judge("a plain call afterwards", plain_operation, answer)
        summary = f"{self.answer_count} answers, {self.unanswered_count} requests without one"
        where = {"surface": self.surface}
        if not self.crashes:
            self.case.expect("X-ROB-01", True, "no 5xx", summary, where=where)
        if not self.json_faults:
            self.case.expect("X-JSON-02", True, "JSON by RFC 8259", summary, where=where)


async def _start_barrage(case: Case, surface: str) -> tuple[Barrage, list[Endpoint]]:
    return Barrage(case, surface), await list_endpoints(case, surface)


def _merge_headers(endpoint: Endpoint, *fields: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the operation's credentials and the fields. A field replaces a credential of the same name."""
    names = {name.lower() for name, _ in fields}
    return [*((name, value) for name, value in endpoint.headers.items() if name.lower() not in names), *fields]


async def _send_bodies(case: Case, surface: str) -> None:
    barrage, operations = await _start_barrage(case, surface)
    inputs: list[tuple[str, Endpoint, bytes]] = []
    # Servers do not read a body of GET and HEAD, so there is nothing to break.
    for endpoint in (one for one in operations if one.method not in {"GET", "HEAD"}):
        good_body = endpoint.body or {}
        inputs += [
            (name, endpoint, body) for name, body in barrage.choose(hostile_inputs.whole_bodies(good_body), endpoint)
        ]
        inputs += [
            (name, endpoint, body) for name, body in barrage.choose(hostile_inputs.wrong_members(good_body), endpoint)
        ]
    await run_concurrently(
        (
            barrage.send(name, endpoint, body=body, headers=_merge_headers(endpoint, hostile_inputs.JSON))
            for name, endpoint, body in inputs
        ),
        at_once=_AT_ONCE,
    )
    await barrage.finish(operations[0])


async def _send_requests(case: Case, surface: str) -> None:
    """Send hostile request heads to one operation with a body and to one without."""
    barrage, operations = await _start_barrage(case, surface)
    pace = case.profile.pace.requests_per_second
    tls = make_context(case.profile.tls)
    # An HTTP library would correct or refuse such heads, so they are written to a socket byte by byte.
    raw = case.client.with_transport(
        RawTransport(operations[0].base, seconds=_RAW_SECONDS, requests_per_second=pace, tls=tls)
    )
    # Request lines and framing are parsed before routing, by the same code for every operation. One of each kind
    # suffices.
    posts = [method for method in operations if method.body is not None][:1]
    samples = [*posts, *[method for method in operations if method.method == "GET"][:1]]
    sends = []
    for endpoint in samples:
        body = b"{}" if endpoint.body is not None else None
        base_headers = _merge_headers(endpoint, *((hostile_inputs.JSON,) if body else ()))
        send = partial(barrage.send, endpoint=endpoint, body=body, client=raw)
        methods = barrage.choose(hostile_inputs.METHODS, endpoint)
        sends += [send(f"{method[:20]} as the method", headers=base_headers, method=method) for method in methods]
        fields = barrage.choose(hostile_inputs.FIELDS.items(), endpoint)
        sends += [send(name, headers=_merge_headers(endpoint, *extra_fields)) for name, extra_fields in fields]
        targets = barrage.choose(hostile_inputs.TARGETS.items(), endpoint)
        sends += [
            send(name, headers=base_headers, target=target.replace("{path}", endpoint.path)) for name, target in targets
        ]
    for endpoint in posts:
        # A request with a broken chunk never ends for a naive reader, which then crashes or hangs.
        chunk_headers = _merge_headers(endpoint, hostile_inputs.JSON, ("Transfer-Encoding", "chunked"))
        pieces = barrage.choose(hostile_inputs.CHUNKS.items(), endpoint)
        sends += [
            barrage.send(f"chunks: {name}", endpoint, body=body, headers=chunk_headers, client=raw)
            for name, body in pieces
        ]
    await run_concurrently(sends, at_once=_AT_ONCE)
    await barrage.finish(operations[0])


@check(*_ROWS, surface="gateway", fix=_FIX, quick=_QUICK)
async def hostile_bodies_at_the_gateway(case: Case) -> None:
    """Malformed, oversized, deeply nested and wrongly typed bodies never make the gateway answer 5xx.

    Sends every hostile body, and a good one with each member replaced by every hostile value, to every operation that
    is known. Expects no 5xx. Expects JSON answers without NaN, Infinity or duplicate members.
    """
    await _send_bodies(case, "gateway")


@check(*_ROWS, surface="rail", fix=_FIX, quick=_QUICK)
async def hostile_bodies_at_the_rail(case: Case) -> None:
    """Malformed, oversized, deeply nested and wrongly typed bodies never make the rail answer 5xx.

    Sends every hostile body, and a good one with each member replaced by every hostile value, to every operation that
    is known, unpaid. Expects no 5xx. Expects JSON answers without NaN, Infinity or duplicate members.
    """
    await _send_bodies(case, "rail")


@check(*_ROWS, surface="gateway", fix=_FIX, quick=_QUICK)
async def hostile_requests_at_the_gateway(case: Case) -> None:
    """Malformed request lines, header fields and framing never make the gateway answer 5xx.

    Sends strange methods, targets, fields, lengths and chunks over raw connections. Expects no 5xx. A request that is
    not HTTP may be answered by closing the connection.
    """
    await _send_requests(case, "gateway")


@check(*_ROWS, surface="rail", fix=_FIX, quick=_QUICK)
async def hostile_requests_at_the_rail(case: Case) -> None:
    """Malformed request lines, header fields and framing never make the rail answer 5xx.

    Sends strange methods, targets, fields, lengths and chunks over raw connections. Expects no 5xx. A request that is
    not HTTP may be answered by closing the connection.
    """
    await _send_requests(case, "rail")


@check(*_ROWS, surface="gateway", fix=_FIX, quick=_QUICK)
async def hostile_checkout_tokens(case: Case) -> None:
    """Checkout tokens of every shape never make the gateway answer 5xx.

    Requests the page and its parts, and makes every call that a link has, with tokens of every length, alphabet and
    encoding. Expects no 5xx.
    """
    barrage, operations = await _start_barrage(case, "gateway")
    page = next(one for one in operations if one.path.startswith(CHECKOUT))
    sends = []
    for name, token in barrage.choose(hostile_inputs.TOKENS.items(), page):
        path = CHECKOUT + token
        sends += [
            barrage.send(f"{name}{tail}", page, body=None, headers=[], method=method, target=path + tail)
            for method, tail in hostile_inputs.CHECKOUT_CALLS
        ]
        sends += [
            barrage.send(
                f"{name}{tail}", page, body=b"{}", headers=[hostile_inputs.JSON], method="POST", target=path + tail
            )
            for tail in hostile_inputs.CHECKOUT_DEEDS
        ]
    await run_concurrently(sends, at_once=_AT_ONCE)
    await barrage.finish(operations[0])


@check(*_ROWS, surface="agent", fix=_FIX, quick=_QUICK)
async def hostile_bodies_at_the_agent(case: Case) -> None:
    """Malformed, oversized, deeply nested and wrongly typed bodies never make the agent answer 5xx.

    Sends every hostile body, and a good one with each member replaced by every hostile value, to every operation that
    is known. Expects no 5xx. Expects JSON answers without NaN, Infinity or duplicate members.
    """
    await _send_bodies(case, "agent")


@check(*_ROWS, surface="agent", fix=_FIX, quick=_QUICK)
async def hostile_requests_at_the_agent(case: Case) -> None:
    """Malformed request lines, header fields and framing never make the agent answer 5xx.

    Sends strange methods, targets, fields, lengths and chunks over raw connections. Expects no 5xx. A request that is
    not HTTP may be answered by closing the connection.
    """
    await _send_requests(case, "agent")


@check(*_ROWS, surface="control_plane", fix=_FIX, quick=_QUICK)
async def hostile_bodies_at_the_control_plane(case: Case) -> None:
    """Malformed, oversized, deeply nested and wrongly typed bodies never make the control plane answer 5xx.

    Sends every hostile body, and a refused one with each member replaced by every hostile value, to every operation
    that is known. Expects no 5xx. Expects JSON answers without NaN, Infinity or duplicate members.
    """
    await _send_bodies(case, "control_plane")


@check(*_ROWS, surface="control_plane", fix=_FIX, quick=_QUICK)
async def hostile_requests_at_the_control_plane(case: Case) -> None:
    """Malformed request lines, header fields and framing never make the control plane answer 5xx.

    Sends strange methods, targets, fields, lengths and chunks over raw connections. Expects no 5xx. A request that is
    not HTTP may be answered by closing the connection.
    """
    await _send_requests(case, "control_plane")
