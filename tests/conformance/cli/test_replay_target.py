"""`weldproof replay` takes its target from the command line, and compares the verdict and not only the status."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance import target
from conformance.cli.replay import command, execution
from conformance.engine.runner import Plan
from conformance.lanes.spending import Wallet
from conformance.log.events import LOG, EventLog
from conformance.outcome import Exit, Verdict
from conformance.target import Profile

CHECK, ROW = "health_and_landing_are_json", "AGENT-HTTP-01"
EARLIER, BESIDE, LATER = "cards_name_the_agent", "every_demo_key_is_fresh", "explanations_need_no_key"
PROFILE = '[surfaces.agent]\nurl = "{url}"\n[claims]\nsurfaces = ["agent"]\n'


def record(log: EventLog, verdict: Verdict | None, status: int = 200, *elsewhere: str) -> None:
    """Put an exchange, and what it was judged as, into a log; and that the row fails at other places."""
    request: dict[str, Any] = {
        "method": "GET",
        "url": "http://h/health",
        "path": "/health",
        "headers": [],
        "body": None,
    }
    response = {"status": status, "headers": [], "body": "[]", "body_bytes": 2, "milliseconds": 1.0}
    log.add("exchange", n=3, check=CHECK, ordinal=1, retry=False, request=request, response=response, error=None)
    if verdict is not None:
        judged_members: dict[str, Any] = {"expected": "an object", "found": None, "hint": None, "where": {}}
        log.add("judgement", check=CHECK, row=ROW, verdict=verdict.value, exchange=3, **judged_members)
        for place in elsewhere:
            log.add(
                "judgement",
                check=CHECK,
                row=ROW,
                verdict="fail",
                exchange=3,
                **{**judged_members, "where": {"path": place}},
            )


def run_replay(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: Mapping[str, Any],
    *words: str,
    before: tuple[Verdict | None, int] = (Verdict.FAIL, 200),
    after: tuple[Verdict | None, int] = (Verdict.FAIL, 200),
    elsewhere: Sequence[str] = (),
    beside: Sequence[str] = (),
    run: str = "",
) -> tuple[Result, list[Profile | None], list[set[str]]]:
    """Replay an exchange of a run with these options; return how it ended, whom it opened and which checks ran.

    Other checks ran `beside` its own; in their company it comes out as `before`, and alone as `after`, and the row
    fails `elsewhere` in the check then.
    """
    log = EventLog(folder / LOG)
    target_ = {"name": "the shop's agent", "surfaces": {"agent": "http://shop"}}
    log.add("run.started", run_id="2267c6ff0123abcd", seed=5, options=options, rows=[ROW], target=target_)
    log.add("check.started", check=EARLIER, rows=[])
    log.add("check.finished", check=EARLIER)
    for check_name in (*beside, CHECK):
        log.add("check.started", check=check_name, rows=[])
    record(log, *before)
    for check_name in (CHECK, *beside):
        log.add("check.finished", check=check_name)
    log.add("check.started", check=LATER, rows=[])
    log.close()
    requests: list[Profile | None] = []
    ran: list[set[str]] = []

    class Again:
        def __init__(self, plan: Plan, profile: Profile, log: EventLog, wallet: Wallet) -> None:
            del profile, wallet
            self._log = log
            ran.append({one.id for one in plan.checks})

        async def execute_whole(self) -> None:
            if ran[-1] > {CHECK}:
                record(self._log, *before)
            else:
                record(self._log, *after, *elsewhere)

    @asynccontextmanager
    async def open_stack(profile: Profile | None, _: Sequence[str]) -> AsyncIterator[Profile]:
        requests.append(profile)
        yield profile or target.parse(PROFILE.format(url="http://own"))

    monkeypatch.chdir(folder)
    monkeypatch.setattr(execution, "Run", Again)
    monkeypatch.setattr(execution, "open_target", open_stack)
    return CliRunner().invoke(command, [f"{folder}#3{run}", *words]), requests, ran


@pytest.mark.parametrize("words", [("--config", "shop.toml"), ("--target", "agent=http://shop")])
def test_the_target_is_what_the_command_line_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Sequence[str]
) -> None:
    """The line that the run prints names the target by the options that the run was given."""
    (tmp_path / "shop.toml").write_text(PROFILE.format(url="http://shop"))
    (tmp_path / "weldproof.toml").write_text(PROFILE.format(url="http://somebody-else"))
    result, requests, _ = run_replay(tmp_path, monkeypatch, {"config": "else.toml"}, *words)
    assert result.exit_code == Exit.PASSED, result.output
    assert [one.surfaces["agent"].url for one in requests if one is not None] == ["http://shop"]


@pytest.mark.parametrize(
    "options",
    [
        {"config": "shop.toml"},
        {"addresses": ["agent=http://shop"]},
        {"mutant": "note-any-token"},
        {"own_stack": True, "settings": ["WP_RAIL_PRICE=1"]},
        {"chains": "nodes.toml"},
        {},
    ],
)
def test_no_target_is_taken_from_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Mapping[str, Any]
) -> None:
    """Neither a profile nor an address, a variant or a setting that a log names is used; they are shown."""
    (tmp_path / "shop.toml").write_text(PROFILE.format(url="http://shop"))
    result, requests, _ = run_replay(tmp_path, monkeypatch, options)
    assert result.exit_code == Exit.USAGE, result.output
    assert "the run judged the shop's agent (agent http://shop)" in result.output
    assert "--config" in result.output
    assert requests == []


def test_a_profile_that_came_with_the_log_is_not_used_unnamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's folder may hold a log and a weldproof.toml that fits it, and a profile runs commands."""
    (tmp_path / "weldproof.toml").write_text(PROFILE.format(url="http://shop"))
    result, requests, _ = run_replay(tmp_path, monkeypatch, {})
    assert result.exit_code == Exit.USAGE, result.output
    assert "--config weldproof.toml" in " ".join(result.output.split())
    assert requests == []
    result, requests, _ = run_replay(tmp_path, monkeypatch, {}, "--config", "weldproof.toml")
    assert result.exit_code == Exit.PASSED, result.output


def test_an_exchange_of_another_run_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run may have been written to the same folder: its exchange of that number is another one."""
    result, requests, _ = run_replay(tmp_path, monkeypatch, {"own_stack": True}, "--reference", run="@2267c6ff")
    assert result.exit_code == Exit.PASSED, result.output
    assert requests == [None]
    result, requests, _ = run_replay(tmp_path, monkeypatch, {"own_stack": True}, run="@7c6ff012")
    assert result.exit_code == Exit.USAGE
    assert "the log is of the run 2267c6ff0123abcd, seed 5" in result.output
    assert requests == []


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ((Verdict.FAIL, 200), (Verdict.FAIL, 200), Exit.PASSED),
        ((Verdict.FAIL, 200), (Verdict.PASS, 200), Exit.FAILED),
        ((Verdict.FAIL, 200), (Verdict.FAIL, 500), Exit.PASSED),
        ((Verdict.FAIL, 200), (None, 200), Exit.NO_VERDICT),
        ((None, 200), (None, 200), Exit.PASSED),
        ((None, 200), (None, 500), Exit.FAILED),
    ],
)
def test_a_breach_is_there_again_where_the_check_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: tuple[Verdict | None, int],
    after: tuple[Verdict | None, int],
    code: Exit,
) -> None:
    """A corrected breach often keeps its status; only calls without a verdict are compared by that."""
    result, _, _ = run_replay(tmp_path, monkeypatch, {}, "--reference", before=before, after=after)
    assert result.exit_code == code, result.output


@pytest.mark.parametrize(
    ("words", "code", "ran"), [([], Exit.FAILED, {CHECK}), (["--beside"], Exit.PASSED, {CHECK, BESIDE})]
)
def test_a_breach_that_another_check_provokes_is_shown_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Sequence[str], code: Exit, ran: set[str]
) -> None:
    """A target may do wrong at the call of another check; one that was over before it, or came later, has no part."""
    after = (Verdict.PASS, 200)
    result, _, checks_seen = run_replay(tmp_path, monkeypatch, {}, "--reference", *words, after=after, beside=[BESIDE])
    assert result.exit_code == code, result.output
    assert checks_seen == [ran]


def test_what_comes_out_otherwise_is_said_with_what_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that were not given, and other places of the check at which the row is broken."""
    after = (Verdict.PASS, 200)
    result, _, _ = run_replay(tmp_path, monkeypatch, {}, "--reference", after=after, elsewhere=["/a", "/a", "/b"])
    assert result.exit_code == Exit.FAILED
    lines = result.stderr.splitlines()
    assert lines[:2] == [f"{ROW} had this result at another place of the check: path={place}" for place in ("/a", "/b")]
    assert "--tries 20" in lines[2]
    assert "--beside" in lines[2]
    result, _, _ = run_replay(tmp_path, monkeypatch, {}, "--reference", "--tries", "2", after=after)
    assert "--tries 20" not in result.stderr
    assert "--beside" in result.stderr
    result, _, _ = run_replay(tmp_path, monkeypatch, {}, "--reference")
    assert result.stderr == ""
