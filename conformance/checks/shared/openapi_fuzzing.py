"""X-OAS-01: generated requests are answered as the published OpenAPI document says.

Schemathesis draws valid and invalid requests for every operation and follows the document's links. Each answer must
have a documented status, media type and headers, and a body that fits its schema. The requests depend on the seed
alone. A normal run draws a fixed number, so two runs send the same requests.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections import Counter
from dataclasses import dataclass, field

from conformance.discovery.operation_presence import asks_to_retry
from conformance.engine.check import Case, check, log_shortened_part
from conformance.engine.quick_policy import one_of_several
from conformance.fuzz.generator_process import Outcome, drive
from conformance.fuzz.process_messages import End, Order, Request, Skipped
from conformance.http.client import Answer, Unreachable, read_retry_after
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane.access import token_of
from conformance.surfaces.openapi_documents import operation_count, published_document
from conformance.target import Budgets

_ROWS = ("X-OAS-01", "X-ROB-01")
_EXAMPLES, _DEEP_EXAMPLES = 4, 20
# Share of the requests that carry a credential if the document demands one. The others must be refused as documented.
_CREDENTIAL_SHARE = 0.9
_REQUEST_SECONDS = 5.0
# One fault of an operation shows in hundreds of answers. The report needs only a few of them.
_MOST_REPORTED = 5
_TOO_MANY_REQUESTS = 429
_FIX = (
    "Document every status that an operation can return, including the limits and faults of the framework. Keep "
    "bodies to their schemas."
)
NORMAL_SECONDS: float = Budgets().fuzz
# A normal run sends a fixed number of requests, and the seconds only bound it. A slow target or a busy machine gets
# this many times the usual seconds, since a run that is cut short would send other requests than the run before.
_TIME_FACTOR = 12
_QUICK = one_of_several("the surfaces' generated calls")


@check(*_ROWS, surface="gateway", fix=_FIX, quick=_QUICK, extra="fuzz")
async def generated_calls_of_the_gateway(case: Case) -> None:
    """Every operation of the gateway's OpenAPI document answers as documented under generated requests.

    Draws valid and invalid requests and follows links. Most requests carry a tenant's credentials if the document
    demands some. Expects a documented status and a body that fits its schema each time, and never 5xx.
    """
    await _GeneratedCalls(case, "gateway").send_all()


@check(*_ROWS, surface="rail", fix=_FIX, quick=_QUICK, extra="fuzz")
async def generated_calls_of_the_rail(case: Case) -> None:
    """Every operation of the rail's OpenAPI document answers as documented under generated requests, never paid.

    Draws valid and invalid requests and follows links. Expects a documented status and a body that fits its schema each
    time, and never 5xx.
    """
    await _GeneratedCalls(case, "rail").send_all()


@check(*_ROWS, surface="agent", fix=_FIX, quick=_QUICK, extra="fuzz")
async def generated_calls_of_the_agent(case: Case) -> None:
    """Every operation of the agent's OpenAPI document answers as documented under generated requests.

    Draws valid and invalid requests and follows links. Expects a documented status and a body that fits its schema each
    time, and never 5xx.
    """
    await _GeneratedCalls(case, "agent").send_all()


@check(*_ROWS, surface="control_plane", fix=_FIX, quick=_QUICK, extra="fuzz")
async def generated_calls_of_the_control_plane(case: Case) -> None:
    """Every operation of the control plane's OpenAPI document answers as documented under generated requests.

    Draws valid and invalid requests and follows links. Sends the admin token only to the built-in reference: the trust
    set of another target gets no generated issuers. Expects a documented status and a body that fits its schema each
    time, and never 5xx.
    """
    await _GeneratedCalls(case, "control_plane").send_all()


@dataclass(slots=True)
class _GeneratedCalls:
    """The generated calls of one surface."""

    case: Case
    surface: str
    base: str = ""
    passes: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    crashes: Counter[str] = field(default_factory=Counter)
    deadline: float = 0.0

    async def send_all(self) -> None:
        """Draw the requests, send them and judge the answers.

        Raises:
            Inconclusive: The document cannot be used, or no request could be sent.
        """
        if self.surface not in self.case.profile.surfaces:
            raise Inconclusive(f"needs the address: give [surfaces.{self.surface}] url")
        document = await published_document(self.case, self.surface)
        if document is None:
            for row in _ROWS:
                self.case.mark_not_applicable(row, f"the {self.surface} publishes no OpenAPI document at a known place")
            return
        self.base = self.case.profile.surfaces[self.surface].url.rstrip("/")
        seconds = self.case.profile.budgets.fuzz
        if self.case.quick is not None and seconds < NORMAL_SECONDS:
            log_shortened_part(self.case.log, self.case.check, "seconds", int(seconds), int(NORMAL_SECONDS))
        start = time.monotonic()
        limit = seconds * _TIME_FACTOR if seconds == NORMAL_SECONDS else seconds
        self.deadline = start + limit
        order = Order(
            document=dict(document),
            seed=self.case.rng.getrandbits(48),
            seconds=limit,
            examples=self._count_examples(seconds, operation_count(document)),
            # An operator who asks for more time wants as many rounds as fit. A normal run is one round, so that it can
            # be repeated.
            rounds=0 if seconds > NORMAL_SECONDS else 1,
        )
        end = End(0)
        async for result in drive(order, self._send):
            match result:
                case Outcome():
                    self._judge(result)
                case Skipped(operation=operation, kind=kind, reason=reason):
                    self.case.note(f"{self.surface}: nothing {kind} was drawn for {operation}: {reason}")
                case End():
                    end = result
        self._report(end, time.monotonic() - start)

    def _count_examples(self, seconds: float, operations: int) -> int:
        """Return how many requests of a kind each operation gets. A bounded pace allows fewer."""
        pace = self.case.profile.pace.requests_per_second
        wanted_count = _EXAMPLES if seconds <= NORMAL_SECONDS else _DEEP_EXAMPLES
        # There are three kinds of requests: valid, invalid, and those that follow a link.
        room = seconds * pace / (3 * max(1, operations)) if pace > 0 else wanted_count
        return max(2, min(wanted_count, int(room)))

    async def _send(self, request: Request) -> Answer:
        headers = [(name, value) for name, value in request.headers]
        has_credential = request.kind == "stateful" or self.case.rng.random() < _CREDENTIAL_SHARE
        if request.needs_credential and has_credential:
            headers += self._credentials().items()
        body = None if request.body is None else base64.b64decode(request.body)
        url = self.base + request.target
        try:
            # One request that hangs must not use up the time of all others.
            async with asyncio.timeout(_REQUEST_SECONDS):
                answer = await self.case.client.call(request.method, url, body=body, headers=headers, patient=False)
        except TimeoutError as fault:
            raise Unreachable(f"no whole answer within {_REQUEST_SECONDS:g} s") from fault
        if answer.status == _TOO_MANY_REQUESTS:
            await self._wait_as_asked(answer)
        return answer

    def _credentials(self) -> dict[str, str]:
        """Return the credentials that a secured operation demands, or nothing if the suite has none."""
        if self.surface == "gateway":
            return dict(self.case.session.tenants.headers())
        if self.surface == "control_plane" and self.case.profile.is_reference:
            token = token_of(self.case)
            return {} if token is None else {"Authorization": f"Bearer {token}"}
        return {}

    async def _wait_as_asked(self, answer: Answer) -> None:
        await asyncio.sleep(max(0.0, min(read_retry_after(answer) or 1.0, self.deadline - time.monotonic())))

    def _judge(self, outcome: Outcome) -> None:
        request, answer = outcome.request, outcome.answer
        # A rate limit says nothing about the request, whether the document lists the status or not.
        if answer.status == _TOO_MANY_REQUESTS:
            return
        where = {"operation": request.operation, "kind": request.kind}
        place = (request.operation, request.kind)
        if outcome.fault is None:
            self.passes[place] += 1
        else:
            self.faults[place] += 1
            if self.faults[place] <= _MOST_REPORTED:
                expectation = "a documented status and a body of its schema"
                self.case.expect("X-OAS-01", False, expectation, outcome.fault, exchange=answer, where=where)
        # A 503 with Retry-After says that the service is busy, which is no crash.
        if answer.status >= 500 and not asks_to_retry(answer):
            self.crashes[request.operation] += 1
            if self.crashes[request.operation] <= _MOST_REPORTED:
                self.case.expect("X-ROB-01", False, "no 5xx", answer.status, exchange=answer, where=where)

    def _report(self, end: End, seconds: float) -> None:
        """Judge what passed, once for each operation and kind, and report how many requests were sent.

        Raises:
            Inconclusive: No request was answered.
        """
        answer_count = self.passes.total() + self.faults.total()
        if end.fault is not None or not answer_count:
            raise Inconclusive(f"the {self.surface}'s OpenAPI document cannot be driven: {end.fault or 'no answers'}")
        for (operation, kind), count in sorted(self.passes.items()):
            where = {"operation": operation, "kind": kind}
            self.case.expect("X-OAS-01", True, "answers as documented", f"{count} answers", where=where)
        if not self.crashes:
            where = {"surface": self.surface}
            self.case.expect(
                "X-ROB-01", True, "no 5xx under generated requests", f"{answer_count} answers", where=where
            )
        extent = f"{end.rounds} whole rounds" if end.rounds else "the time ended before the round did"
        advice = "`--fuzz-seconds N` or [budgets] fuzz sends more"
        self.case.note(f"{self.surface}: {answer_count} generated requests in {seconds:.1f} s, {extent}; {advice}")
