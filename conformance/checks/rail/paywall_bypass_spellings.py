"""RAIL-402-01: no other spelling of a paid call is served without a payment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

from conformance.discovery.paywall_bypass_spellings import Spelling, call_spellings
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer, Client, Unreachable
from conformance.http.raw import RawTransport
from conformance.http.trust import make_context
from conformance.oracles import jose
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.paid_answers import ABSENT, find_goods, result_of
from conformance.surfaces.rail.purchase import purchase

_ROW: Final = "RAIL-402-01"
_EXPECTATION: Final = "402, or nothing there"
_OPEN_POINT: Final = "the answer is neither a receipt nor a known result of the service"
_UNKNOWN_SERVICE: Final = "no-such-service-of-this-rail"
_ANSWER_SECONDS: Final = 10.0
_AT_ONCE: Final = 6
# Spellings per further operation if the target's pace is bounded: usually one router serves all operations.
_FEW: Final = 12


@check(
    _ROW,
    surface="rail",
    fix="Require the payment after routing, for the matched route. Do not decide by a separate reading of path, method "
    "or headers in front of the router.",
    quick=sample("operations"),
)
async def no_spelling_of_a_paid_call_is_free(case: Case) -> None:
    """No other spelling of path, method or target of a paid call is served without a payment.

    Sends each paid operation without payment over a raw connection. Encodes letters, slashes, backslashes and dots of
    its path once, twice or overlong. Adds path parameters, a second slash or a percent sign. Uses capitals, the
    absolute form, other methods and their spellings, and headers that name another path, method or host.

    Expects that no answer contains the service's result or a receipt. Every refusal passes, and so does a page or index
    that the server also shows at an unknown path. An answer that may be the service's result, but is not known to be,
    only warns.
    """
    origin = strip_to_origin(case.session.rail)
    pace, tls = case.profile.pace.requests_per_second, make_context(case.profile.tls)
    # An HTTP library normalises paths and refuses odd methods, so these spellings would never reach the server.
    transport = RawTransport(
        origin, seconds=_ANSWER_SECONDS, requests_per_second=pace, tls=tls, has_whole_requests=True
    )
    raw = case.client.with_transport(transport)
    for number, operation in enumerate(case.sample(case.session.catalog.operations)):
        trial = _SpellingTrial(case, raw, origin, operation)
        spellings = list(call_spellings("POST", urlsplit(operation.url).path, origin))
        if number and pace > 0:
            reason = "spellings of further operations, since the pace is bounded"
            spellings = case.draw_part(spellings, _FEW, reason)
        await run_concurrently(map(trial.judge, spellings), at_once=_AT_ONCE)


def strip_to_origin(url: str) -> str:
    """Return scheme and host of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@dataclass(slots=True)
class _SpellingTrial:
    """Other spellings of one operation."""

    case: Case
    raw: Client
    origin: str
    operation: Operation
    purchase_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    result: Any = None

    async def judge(self, spelling: Spelling) -> None:
        """Send one spelling and judge its answer. A spelling without an answer is not judged."""
        answer = await self._send(spelling)
        if answer is None:
            return
        case, where = self.case, {"operation": self.operation.path, "spelling": spelling.description}
        results = find_goods(case, answer) if _is_served(answer) else []
        beyond = None
        # An object named like the result may be an index or a description. It is free goods only if it has the form of
        # a bought one.
        if results == ["the result"]:
            if not answer.read_object() or await self._is_elsewhere(spelling, answer):
                results = []
            elif await self._may_be_described(spelling, answer) and not await self._is_like_result(
                result_of(case, answer)
            ):
                beyond = _OPEN_POINT
        elif not results and await self._may_be_served(spelling, answer):
            is_known = await self._is_like_result(answer.read_object())
            results = sorted(answer.read_object()) if is_known or spelling.method == "POST" else []
            beyond = None if is_known else _OPEN_POINT
        finding = results or answer.status
        case.expect(_ROW, not results, _EXPECTATION, finding, exchange=answer, where=where, beyond=beyond)

    async def _send(self, spelling: Spelling) -> Answer | None:
        body = None if spelling.method in {"GET", "HEAD", "TRACE"} and not spelling.headers else self.operation.body
        try:
            return await self.raw.call(
                spelling.method, self.origin + spelling.target, json_body=body, headers=spelling.headers
            )
        # The server closed the connection, or a first look may not send this request.
        except (Unreachable, Inconclusive):
            return None

    async def _may_be_served(self, spelling: Spelling, answer: Answer) -> bool:
        """Return whether an answer without a known result is an object that only this path returns."""
        return _is_served(answer) and bool(answer.read_object()) and not await self._is_elsewhere(spelling, answer)

    async def _is_elsewhere(self, spelling: Spelling, answer: Answer) -> bool:
        """Return whether an unknown path in the same spelling is answered with the same members."""
        # A server may show an index or an error page with 200 at every path. That is not the paid service.
        path = urlsplit(self.operation.url).path
        # The control is an unknown service at the same place, in the same spelling, so only the name of the service
        # differs.
        sibling = f"{path.rpartition('/')[0]}/{_UNKNOWN_SERVICE}"
        sibling_spelling = next(
            one for one in call_spellings("POST", sibling, self.origin) if one.description == spelling.description
        )
        control = await self._send(sibling_spelling)
        return (
            control is not None and _is_served(control) and control.read_object().keys() == answer.read_object().keys()
        )

    async def _may_be_described(self, spelling: Spelling, answer: Answer) -> bool:
        """Return whether an answer may be a description of the operation, which methods other than POST may return.

        A call with further headers may be one only if the answer without them is the same.
        """
        if spelling.method.upper() == "POST" or not spelling.headers:
            return spelling.method.upper() != "POST"
        plain = await self._send(replace(spelling, headers=()))
        return plain is not None and _is_served(plain) and plain.read_object().keys() == answer.read_object().keys()

    async def _is_like_result(self, value: Any) -> bool:
        """Return whether a value has the form of a bought result. Without a lane to pay on, no value has it."""
        # Many spellings run at once, and all of them need the same bought result. It is bought once.
        async with self.purchase_lock:
            if self.result is None:
                self.result = await self._buy_result()
        if isinstance(self.result, Mapping):
            return isinstance(value, Mapping) and bool(self.result) and self.result.keys() <= value.keys()
        return type(value) is type(self.result)

    async def _buy_result(self) -> Any:
        """Return the result of a purchase, or the answer without its tokens; an empty object if nothing is sold."""
        lanes = self.case.profile.claims.lanes
        try:
            if not lanes:
                return {}
            answer = (await purchase(self.case, replace(self.operation, is_accepted=True), lanes[0])).answer
        except Inconclusive:
            return {}
        result, body = result_of(self.case, answer), answer.read_object()
        if result is not ABSENT and result is not None:
            return result
        # Without a bound place the whole answer is the result. Receipts are left out, since each purchase has others.
        tokens = {place.partition(":")[2].partition(".")[0] for place, _ in jose.tokens_in(body, {})}
        return {name: member for name, member in body.items() if name not in tokens}


def _is_served(answer: Answer) -> bool:
    return 200 <= answer.status < 300
