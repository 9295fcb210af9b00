"""Synthetic runs for tests of the reports, built through the event log that real runs are built through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.ledger import load
from conformance.log.events import Event, EventLog
from conformance.outcome import Verdict, exit_code


@dataclass
class RunBuilder:
    """Writes one run: judgements in between, rows and the end by `finish`."""

    rows: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    non_defaults: Sequence[tuple[str, object]] = ()
    target: str = "test target"
    quick: bool = False
    variables: Sequence[str] = ()
    not_alone: Mapping[str, str] = field(default_factory=dict)
    log: EventLog = field(default_factory=EventLog)
    _exchanges: int = 0

    def __post_init__(self) -> None:
        """Open the run."""
        self.log.add(
            "run.started",
            run_id="00112233aabbccdd",
            suite_version="0.1.0",
            seed=7,
            started_at=1_760_000_000,
            target={"name": self.target, "surfaces": {"rail": "http://127.0.0.1:8402"}},
            chains={},
            claims={"surfaces": ["rail"], "lanes": ["algorand"], "options": []},
            non_defaults=[{"key": key, "value": value} for key, value in self.non_defaults],
            rows=list(self.rows),
            options=dict(self.options),
            quick=self.quick,
            variables=list(self.variables),
            not_alone=dict(self.not_alone),
        )

    def exchange(
        self,
        check: str,
        *,
        answer: str = '{"ok":true}',
        status: int | None = 200,
        worker: str | None = None,
        **request: Any,
    ) -> int:
        """Add one exchange and return its number; `status` None means that no answer came."""
        self._exchanges += 1
        sent_members = {
            "method": "POST",
            "url": "http://127.0.0.1:8402/pay/v1/x",
            "path": "/pay/v1/x",
            "headers": [["content-type", "application/json"], ["x-payment", "$X_PAYMENT"]],
            "body": '{"jws":"e30.e30.AA"}',
            **request,
        }
        response = {
            "status": status,
            "headers": [["content-type", "application/json"]],
            "body": answer,
            "body_bytes": len(answer),
            "milliseconds": 1.25,
        }
        self.log.add(
            "exchange",
            n=self._exchanges,
            check=check,
            ordinal=1,
            retry=False,
            request=sent_members,
            response=None if status is None else response,
            error=None if status is not None else "connection refused",
            **({} if worker is None else {"worker": worker}),
        )
        return self._exchanges

    def arrival(self, destination: str, body: str, *, silent: bool = False) -> int:
        """Add one delivery that the target made and return its number; a silent one got no answer."""
        self._exchanges += 1
        self.log.add(
            "arrival",
            n=self._exchanges,
            destination=destination,
            request={
                "method": "POST",
                "url": "http://127.0.0.1:8097/hooks",
                "path": "/hooks",
                "headers": [["X-Acme-Signature", "t=1,v1=00"]],
                "body": body,
            },
            response=None
            if silent
            else {"status": 204, "headers": [], "body": "", "body_bytes": 0, "milliseconds": 0.0},
            error="no answer" if silent else None,
        )
        return self._exchanges

    def judge(
        self,
        row: str,
        verdict: Verdict,
        *,
        check: str = "some_check",
        expected_text: str = "an answer of 402",
        found_text: str | None = None,
        exchange: int | None = None,
        hint: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> RunBuilder:
        """Add one judgement."""
        members = {
            "expected": expected_text,
            "found": found_text,
            "exchange": exchange,
            "hint": hint,
            "where": dict(where or {}),
        }
        self.log.add("judgement", check=check, row=row, verdict=verdict.value, **members)
        return self

    def comparison(
        self,
        text: str,
        *,
        grade: str | None = "matters",
        missing_reason: str | None = None,
        is_verified: bool | None = True,
    ) -> RunBuilder:
        """Add a comparison in which everything that targets can choose is or ends in `text`; `grade` is its claim's."""
        fault = f"why: {text}" if is_verified is False else None
        left_side, right = (
            {
                "name": f"{name} {text}",
                "source": f"http://{text}",
                "place": f"body:{text}",
                "exchange": self._exchanges or None,
                "verified": its,
                "fault": why,
                "receipt": f"e30.{text}",
            }
            for name, its, why in (("ours", True, None), ("theirs", is_verified, fault))
        )
        claim = {"part": "payload", "name": f"claim {text}", "left": f'"{text}"', "right": None, "grade": grade}
        self.log.add(
            "comparison",
            call=f"POST /{text}",
            lane="algorand",
            left=left_side,
            right=right,
            missing=missing_reason,
            grade=grade,
            claims=[] if grade is None else [{**claim, "why": f"because {text}"}],
        )
        return self

    def check(self, name: str, seconds: float = 0.5, outcome: str = "done", error: str | None = None) -> RunBuilder:
        """Add a check's end."""
        self.log.add("check.finished", check=name, seconds=seconds, outcome=outcome, error=error)
        return self

    def finish(
        self, verdicts: Mapping[str, Verdict], *, known_states: Mapping[str, str] | None = None
    ) -> tuple[Event, ...]:
        """Add each row's verdict (`reason` from its first judgement of that verdict) and the run's end."""
        known = known_states or {}
        for row in self.rows:
            verdict = verdicts.get(row, Verdict.PASS)
            telling_events = [
                event for event in self.log.of("judgement") if event["row"] == row and event["verdict"] == verdict.value
            ]
            reason = (
                None
                if verdict is Verdict.PASS
                else telling_events[0]["expected"]
                if telling_events
                else "by its profile"
            )
            checks = sorted({event["check"] for event in self.log.of("judgement") if event["row"] == row})
            self.log.add(
                "row",
                id=row,
                verdict=verdict.value,
                reason=reason,
                checks=checks,
                expected_failure=known.get(row),
            )
        judged_rows = [
            Verdict.PASS if known.get(row) == "expected" else verdicts.get(row, Verdict.PASS) for row in self.rows
        ]
        unexpected_count = sum(word in {"unexpected_pass", "expired", "unmatched"} for word in known.values())
        code = exit_code(judged_rows, unexpected_passes=unexpected_count, is_strict=bool(self.options.get("strict")))
        self.log.add("run.finished", seconds=12.5, exit_code=int(code), interrupted=False, counts={})
        return self.log.events


# The rows of `every_verdict`, with their verdicts; the number of those that pass grows with the ledger.
VERDICTS: Final[Mapping[str, Verdict]] = {
    **{row.id: Verdict.PASS for row in load().select(["RAIL", "GW-DOC"])},
    **{row.id: Verdict.NOT_APPLICABLE for row in load().select(["RAIL-A2A"])},
    **{row.id: Verdict.DOCUMENTED for row in load().select(["GW-DOC"])},
    "RAIL-402-01": Verdict.FAIL,
    "RAIL-402-02": Verdict.FAIL,
    "RAIL-402-07": Verdict.WARN,
    "RAIL-WELD-02": Verdict.INCONCLUSIVE,
    "RAIL-WELD-03": Verdict.ERROR,
}
COUNTS: Final = Counter(VERDICTS.values())
PASSED: Final = COUNTS[Verdict.PASS]
# Those that pass, fail or warn.
JUDGED: Final = PASSED + 3


def every_verdict() -> tuple[Event, ...]:
    """Return a run of the rail that has at least one row of each verdict."""
    run = RunBuilder(
        [*VERDICTS], non_defaults=[("rail.scheme", "exact"), ("pace.workers", 4), ("claims.lanes", ["algorand"])]
    )
    wrong = run.exchange("unpaid_call", answer='{"error":"payment_required"}', status=200)
    run.judge(
        "RAIL-402-01",
        Verdict.FAIL,
        check="unpaid_call",
        expected_text="an unpaid call answers 402",
        found_text="status 200",
        exchange=wrong,
        hint="Answer 402 before the service runs.",
        where={"operation": "/pay/v1/x"},
    )
    run.judge(
        "RAIL-402-02", Verdict.FAIL, check="unpaid_call", found_text="no accepts", exchange=wrong, hint="Add accepts."
    )
    run.judge("RAIL-402-07", Verdict.WARN, check="unpaid_call", found_text="lower case", hint="Use the usual spelling.")
    lost_exchange = run.exchange("paid_call[algorand]", status=None)
    reason = "no answer within 30 s"
    run.judge(
        "RAIL-WELD-02", Verdict.INCONCLUSIVE, check="paid_call[algorand]", expected_text=reason, exchange=lost_exchange
    ).judge("RAIL-WELD-03", Verdict.ERROR, check="weld", expected_text="ZeroDivisionError: division by zero")
    run.judge(
        "RAIL-402-03", Verdict.PASS, check="unpaid_call", expected_text="the body is JSON", where={"lane": "algorand"}
    )
    run.check("unpaid_call", 0.4).check("paid_call[algorand]", 30.1, "unreachable", reason)
    run.check("weld", 0.1, "fault", "ZeroDivisionError: division by zero")
    run.log.add("note", check="unpaid_call", text="the target asked for a pause once")
    return run.finish({row: verdict for row, verdict in VERDICTS.items() if verdict is not Verdict.PASS})
