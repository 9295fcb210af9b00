"""`weldproof replay`: the check runs again, and what came of it is compared and shown as text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from conformance import target
from conformance.cli.replay import command, execution
from conformance.engine.runner import Plan
from conformance.lanes.spending import Wallet
from conformance.log.events import LOG, EventLog
from conformance.outcome import Exit, Verdict
from conformance.target import Profile

CHECK = "a_signature_verifies[algorand]"
PROFILE = """
[surfaces.gateway]
url = "http://127.0.0.1:1"
[claims]
surfaces = ["gateway", "webhooks"]
lanes = ["algorand"]
"""


def record(log: EventLog, verdict: Verdict, body: str, *, n: int = 3, is_judged: bool = True) -> None:
    """Put a delivery and what it came to into a log."""
    request = {"method": "POST", "url": "http://h/x", "path": "/x", "headers": [], "body": body}
    response = {"status": 204, "headers": [], "body": "", "body_bytes": 0, "milliseconds": 0.0}
    log.add("arrival", n=n, destination="first", request=request, response=response, error=None)
    if is_judged:
        judgement = {"expected": "v1", "found": verdict.value, "hint": None, "where": {"lane": "algorand"}}
        log.add("judgement", check=CHECK, row="WH-SIG-04", verdict=verdict.value, exchange=n, **judgement)


def run_replay(
    folder: Path, monkeypatch: pytest.MonkeyPatch, again: Verdict, *options: str, is_judged: bool = True
) -> Result:
    """Replay a delivery that failed, with a target on which it now comes to `again`."""
    return again_after(
        folder,
        monkeypatch,
        lambda log: record(log, Verdict.FAIL, "old", is_judged=is_judged),
        lambda log: record(log, again, "new", n=8),
        *options,
    )


def again_after(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[EventLog], None],
    after: Callable[[EventLog], None],
    *options: str,
) -> Result:
    """Replay number 3 of a run that left `before` in its log, with a target that leaves `after`."""
    first_log = EventLog(folder / LOG)
    first_log.add("run.started", seed=5, options={}, rows=["WH-SIG-04"])
    before(first_log)
    first_log.close()

    class Again:
        def __init__(self, plan: Plan, profile: Profile, log: EventLog, wallet: Wallet) -> None:
            assert not wallet.main_network
            assert [one.id for one in plan.checks] == [CHECK]
            assert plan.seed == 5
            assert profile.claims.lanes == ("algorand",)
            self._log = log

        async def execute_whole(self) -> None:
            after(self._log)

    @asynccontextmanager
    async def open_stack(_: Profile | None, __: Sequence[str]) -> AsyncIterator[Profile]:
        yield target.parse(PROFILE)

    monkeypatch.setattr(execution, "Run", Again)
    monkeypatch.setattr(execution, "open_target", open_stack)
    return CliRunner().invoke(command, [f"{folder}#3", "--reference", *options])


@pytest.mark.parametrize(("again", "code"), [(Verdict.FAIL, Exit.PASSED), (Verdict.PASS, Exit.FAILED)])
def test_a_delivery_is_compared_by_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: Verdict, code: Exit
) -> None:
    """Both deliveries are shown with what they came to; the exit code says whether that is the same."""
    result = run_replay(tmp_path, monkeypatch, again)
    assert result.exit_code == code, result.output
    assert "--data-raw old" in result.output
    assert "--data-raw new" in result.output
    assert f"WH-SIG-04 {again.value}" in result.output


def test_a_delivery_that_nobody_judged_cannot_be_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no check to run again, and that is said."""
    result = run_replay(tmp_path, monkeypatch, Verdict.PASS, is_judged=False)
    assert result.exit_code == Exit.USAGE
    assert "no check judged" in result.output


def test_both_deliveries_can_be_had_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--json` has the two arrivals and the two judgements."""
    document: dict[str, Any] = orjson.loads(run_replay(tmp_path, monkeypatch, Verdict.FAIL, "--json").output)
    assert [document[name]["request"]["body"] for name in ("recorded", "again")] == ["old", "new"]
    line = "curl -sS -i -g --path-as-is -X POST --url 'http://h/x' -H Content-Type: --data-raw new"
    assert document["again"]["curl"] == line
    assert [one["verdict"] for one in document["judgements"]] == ["fail", "fail"]


def test_what_the_target_sent_is_shown_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an answer nor a finding that quotes one reaches the terminal as commands."""
    hostile = "\x1b[2J\x1b]0;x\x07"
    response = {"headers": [["x-a", hostile]], "body": hostile, "body_bytes": 9, "milliseconds": 1.0}
    request: dict[str, Any] = {
        "method": "GET",
        "url": f"http://h/x{hostile}",
        "path": "/x",
        "headers": [],
        "body": None,
    }
    exchange = {"n": 3, "check": CHECK, "ordinal": 1, "retry": False, "request": request}

    def records(status: int) -> Callable[[EventLog], None]:
        return lambda log: log.add("exchange", **exchange, response={**response, "status": status}, error=None)

    result = again_after(tmp_path, monkeypatch, records(500), records(200))
    assert result.exit_code == Exit.FAILED, result.output
    assert "\x1b" not in result.output
    assert "\x07" not in result.output
    assert result.output.count("x-a: \\x1b[2J") == 2
    assert "  200 OK\n" in result.output
    assert "  500 Internal Server Error\n" in result.output
