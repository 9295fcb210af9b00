"""X-ROB-01 and X-JSON-02: hostile input is refused without a crash, and a refusal in JSON is valid JSON.

Over JSON-RPC a crash is an error object with the code of an internal error, whatever the HTTP status.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from conformance.discovery.recognising import says_later
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick import sample
from conformance.fuzz import corpora
from conformance.http.client import Answer, Client, Late, Unreachable, retry_after
from conformance.http.raw import RawTransport
from conformance.http.trust import context_of
from conformance.oracles.strict_json import is_json_type, literal_faults
from conformance.outcome import Inconclusive
from conformance.surfaces import json_rpc
from conformance.surfaces.endpoints import Endpoint, endpoints
from conformance.surfaces.gateway.calls import CHECKOUT

T = TypeVar("T")
_ROWS = ("X-ROB-01", "X-JSON-02")
_RAW_SECONDS = 5.0
# Inputs of one kind for an endpoint, if the target's pace is bounded or only its OpenAPI document names the endpoint.
_FEW = 12
# Inputs of one kind for an endpoint in a quick look.
_QUICK_FEW = 3
# One missing guard shows in hundreds of answers. The report needs only a few of them.
_SHOWN = 5
# Only a few requests run at the same time, because other checks wait for their answers from the same service.
_AT_ONCE = 6
# HTTP itself has these 5xx for methods, transfer codings and versions that a server does not know (RFC 9110, 15.6).
_PROTOCOL = frozenset({501, 505})
# A proxy in front of the service answers these for a Host that it does not know. The service has not seen the request.
_NOBODY_THERE = frozenset({502, 503, 504})
_THROTTLED, _LONGEST_REST = 429, 1.0
_FIX = (
    "Refuse an unreadable request with a 4xx. Parse in one place that turns every fault of the parser, the framework "
    "and the schema into a refusal. Use 5xx only for faults of your server."
)

_QUICK = sample("hostile inputs, some of a kind at each operation")


@dataclass(slots=True)
class Barrage:
    """Hostile requests to one surface, with counts of their answers and faults."""

    case: Case
    surface: str
    sent: int = 0
    unanswered: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    literal: Counter[str] = field(default_factory=Counter)

    def few(self, inputs: Iterable[T], endpoint: Endpoint) -> list[T]:
        """Return the inputs to send: all, or a sample if the pace is bounded or only a document names the endpoint."""
        chosen = list(inputs)
        if not endpoint.stated:
            chosen = self.case.draw_part(chosen, _FEW, "hostile inputs, at operations that only a document names")
        elif self.case.profile.pace.requests_per_second > 0:
            chosen = self.case.draw_part(chosen, _FEW, "hostile inputs, since the pace is bounded")
        return self.case.sample(chosen, few=_QUICK_FEW)

    async def send(
        self,
        what: str,
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
            what: Name of the input, for the report.
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
        except Unreachable:
            self.unanswered += 1
            return
        if answer.status == _THROTTLED:
            # The limiter refused before any parser read the request, so the answer shows nothing about it.
            self.unanswered += 1
            await asyncio.sleep(min(retry_after(answer) or 0.0, _LONGEST_REST))
            return
        self.sent += 1
        allowed = frozenset() if client is None else _PROTOCOL
        elsewhere = any(name.lower() == "host" for name, _ in headers)
        self._judge(what, endpoint, answer, allowed | _NOBODY_THERE if elsewhere else allowed)

    def _judge(self, what: str, endpoint: Endpoint, answer: Answer, allowed: frozenset[int] = frozenset()) -> None:
        where = {"operation": endpoint.label, "input": what}
        crashed = answer.status >= 500 and not says_later(answer) and answer.status not in allowed
        internal = json_rpc.error_code(answer) == json_rpc.INTERNAL_ERROR
        if crashed or internal:
            self.broken[endpoint.label] += 1
            if self.broken[endpoint.label] <= _SHOWN:
                told, found = "a refusal, no 5xx", f"{answer.status}" + (", JSON-RPC's internal error" * internal)
                self.case.expect("X-ROB-01", False, told, found, exchange=answer, where=where)
        faults = literal_faults(answer.body) if is_json_type(answer.headers.get("Content-Type")) else []
        if faults:
            self.literal[endpoint.label] += 1
            if self.literal[endpoint.label] <= _SHOWN:
                self.case.expect("X-JSON-02", False, "JSON by RFC 8259", faults[:5], exchange=answer, where=where)

    async def end(self, good: Endpoint) -> None:
        """Judge that no request crashed the surface, and that it still answers a plain call.

        Raises:
            Inconclusive: No request was answered, so it is unknown whether the surface ever answered.
        """
        plain = partial(self.case.client.call, good.method, good.url, json_body=good.body, headers=good.headers)
        try:
            try:
                answer = await plain()
            except Late:
                # A service that is slow once may still be processing the requests before. It gets a second chance.
                answer = await plain()
        except Unreachable as fault:
            # A surface that never answered in this run was not brought down by these requests.
            if not self.sent and not self.case.client.has_answered(good.url):
                raise Inconclusive(f"no request was answered, not even a plain call: {fault}") from fault
            found = f"after {self.sent} hostile requests: {fault}"
            self.case.expect("X-ROB-01", False, "the service still answers", found, where={"surface": self.surface})
            return
        if not self.sent:
            raise Inconclusive("no hostile request was answered")
        self._judge("a plain call afterwards", good, answer)
        told = f"{self.sent} answers, {self.unanswered} requests without one"
        where = {"surface": self.surface}
        if not self.broken:
            self.case.expect("X-ROB-01", True, "no 5xx", told, where=where)
        if not self.literal:
            self.case.expect("X-JSON-02", True, "JSON by RFC 8259", told, where=where)


async def _claimed(case: Case, surface: str) -> tuple[Barrage, list[Endpoint]]:
    return Barrage(case, surface), await endpoints(case, surface)


def _typed(endpoint: Endpoint, *fields: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the operation's credentials and the fields. A field replaces a credential of the same name."""
    given = {name.lower() for name, _ in fields}
    return [*((name, value) for name, value in endpoint.headers.items() if name.lower() not in given), *fields]


async def _bodies(case: Case, surface: str) -> None:
    barrage, known = await _claimed(case, surface)
    inputs: list[tuple[str, Endpoint, bytes]] = []
    for endpoint in (one for one in known if one.method not in {"GET", "HEAD"}):
        good = endpoint.body or {}
        inputs += [(what, endpoint, body) for what, body in barrage.few(corpora.whole_bodies(good), endpoint)]
        inputs += [(what, endpoint, body) for what, body in barrage.few(corpora.wrong_members(good), endpoint)]
    await run_concurrently(
        (
            barrage.send(what, endpoint, body=body, headers=_typed(endpoint, corpora.JSON))
            for what, endpoint, body in inputs
        ),
        at_once=_AT_ONCE,
    )
    await barrage.end(known[0])


async def _requests(case: Case, surface: str) -> None:
    """Send hostile request heads to one operation with a body and to one without."""
    barrage, known = await _claimed(case, surface)
    pace = case.profile.pace.requests_per_second
    tls = context_of(case.profile.tls)
    # An HTTP library would correct or refuse such heads, so they are written to a socket byte by byte.
    raw = case.client.over(RawTransport(known[0].base, seconds=_RAW_SECONDS, requests_per_second=pace, tls=tls))
    # Request lines and framing are parsed before routing, by the same code for every operation. One of each kind
    # suffices.
    posts = [one for one in known if one.body is not None][:1]
    chosen = [*posts, *[one for one in known if one.method == "GET"][:1]]
    parts = []
    for endpoint in chosen:
        body = b"{}" if endpoint.body is not None else None
        typed = _typed(endpoint, *((corpora.JSON,) if body else ()))
        send = partial(barrage.send, endpoint=endpoint, body=body, client=raw)
        methods = barrage.few(corpora.METHODS, endpoint)
        parts += [send(f"{one[:20]} as the method", headers=typed, method=one) for one in methods]
        fields = barrage.few(corpora.FIELDS.items(), endpoint)
        parts += [send(what, headers=_typed(endpoint, *given)) for what, given in fields]
        targets = barrage.few(corpora.TARGETS.items(), endpoint)
        parts += [send(what, headers=typed, target=target.replace("{path}", endpoint.path)) for what, target in targets]
    for endpoint in posts:
        chunked = _typed(endpoint, corpora.JSON, ("Transfer-Encoding", "chunked"))
        pieces = barrage.few(corpora.CHUNKS.items(), endpoint)
        parts += [
            barrage.send(f"chunks: {what}", endpoint, body=body, headers=chunked, client=raw) for what, body in pieces
        ]
    await run_concurrently(parts, at_once=_AT_ONCE)
    await barrage.end(known[0])


@check(*_ROWS, surface="gateway", fix=_FIX, quick=_QUICK)
async def hostile_bodies_at_the_gateway(case: Case) -> None:
    """Malformed, oversized, deeply nested and wrongly typed bodies never make the gateway answer 5xx.

    Sends every hostile body, and a good one with each member replaced by every hostile value, to every operation that
    is known. Expects no 5xx. Expects JSON answers without NaN, Infinity or duplicate members.
    """
    await _bodies(case, "gateway")


@check(*_ROWS, surface="rail", fix=_FIX, quick=_QUICK)
async def hostile_bodies_at_the_rail(case: Case) -> None:
    """Malformed, oversized, deeply nested and wrongly typed bodies never make the rail answer 5xx.

    Sends every hostile body, and a good one with each member replaced by every hostile value, to every operation that
    is known, unpaid. Expects no 5xx. Expects JSON answers without NaN, Infinity or duplicate members.
    """
    await _bodies(case, "rail")


@check(*_ROWS, surface="gateway", fix=_FIX, quick=_QUICK)
async def hostile_requests_at_the_gateway(case: Case) -> None:
    """Malformed request lines, header fields and framing never make the gateway answer 5xx.

    Sends strange methods, targets, fields, lengths and chunks over raw connections. Expects no 5xx. A request that is
    not HTTP may be answered by closing the connection.
    """
    await _requests(case, "gateway")


@check(*_ROWS, surface="rail", fix=_FIX, quick=_QUICK)
async def hostile_requests_at_the_rail(case: Case) -> None:
    """Malformed request lines, header fields and framing never make the rail answer 5xx.

    Sends strange methods, targets, fields, lengths and chunks over raw connections. Expects no 5xx. A request that is
    not HTTP may be answered by closing the connection.
    """
    await _requests(case, "rail")


@check(*_ROWS, surface="gateway", fix=_FIX, quick=_QUICK)
async def hostile_checkout_tokens(case: Case) -> None:
    """Checkout tokens of every shape never make the gateway answer 5xx.

    Requests the page and its parts, and makes every call that a link has, with tokens of every length, alphabet and
    encoding. Expects no 5xx.
    """
    barrage, known = await _claimed(case, "gateway")
    page = next(one for one in known if one.path.startswith(CHECKOUT))
    parts = []
    for what, token in barrage.few(corpora.TOKENS.items(), page):
        under = CHECKOUT + token
        parts += [
            barrage.send(f"{what}{tail}", page, body=None, headers=[], method=method, target=under + tail)
            for method, tail in corpora.CHECKOUT_CALLS
        ]
        parts += [
            barrage.send(f"{what}{tail}", page, body=b"{}", headers=[corpora.JSON], method="POST", target=under + tail)
            for tail in corpora.CHECKOUT_DEEDS
        ]
    await run_concurrently(parts, at_once=_AT_ONCE)
    await barrage.end(known[0])


@check(*_ROWS, surface="agent", fix=_FIX, quick=_QUICK)
async def hostile_bodies_at_the_agent(case: Case) -> None:
    """Malformed, oversized, deeply nested and wrongly typed bodies never make the agent answer 5xx.

    Sends every hostile body, and a good one with each member replaced by every hostile value, to every operation that
    is known. Expects no 5xx. Expects JSON answers without NaN, Infinity or duplicate members.
    """
    await _bodies(case, "agent")


@check(*_ROWS, surface="agent", fix=_FIX, quick=_QUICK)
async def hostile_requests_at_the_agent(case: Case) -> None:
    """Malformed request lines, header fields and framing never make the agent answer 5xx.

    Sends strange methods, targets, fields, lengths and chunks over raw connections. Expects no 5xx. A request that is
    not HTTP may be answered by closing the connection.
    """
    await _requests(case, "agent")


@check(*_ROWS, surface="control_plane", fix=_FIX, quick=_QUICK)
async def hostile_bodies_at_the_control_plane(case: Case) -> None:
    """Malformed, oversized, deeply nested and wrongly typed bodies never make the control plane answer 5xx.

    Sends every hostile body, and a refused one with each member replaced by every hostile value, to every operation
    that is known. Expects no 5xx. Expects JSON answers without NaN, Infinity or duplicate members.
    """
    await _bodies(case, "control_plane")


@check(*_ROWS, surface="control_plane", fix=_FIX, quick=_QUICK)
async def hostile_requests_at_the_control_plane(case: Case) -> None:
    """Malformed request lines, header fields and framing never make the control plane answer 5xx.

    Sends strange methods, targets, fields, lengths and chunks over raw connections. Expects no 5xx. A request that is
    not HTTP may be answered by closing the connection.
    """
    await _requests(case, "control_plane")
