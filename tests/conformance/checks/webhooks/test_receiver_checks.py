"""What WH-RECV makes of honest webhook receivers, of receivers with one flaw each, and of profiles that bind less."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer

from conformance import target
from conformance.engine.runner import Plan, Run, select_checks
from conformance.http.curl_and_templates import make_template
from conformance.ledger import load
from conformance.log.events import LOG, EventLog, read_log
from conformance.outcome import ONLY_WARNS
from tests import prepared
from tests.conformance.checks.webhooks.flawed_receiver import SECRET, FlawedReceiver

ROWS = load().select(["WH-RECV"])
ALL_ROWS = {row.id.removeprefix("WH-RECV-") for row in ROWS}

# Each flaw with the rows that it must break, no others.
ROWS_BY_FLAW = {
    "no memory": {"01", "06"},
    "looks first, notes later": {"06"},
    "knows events by their bytes": {"01"},
    "knows events by their signature": {"01"},
    "knows an id at one time only": {"01"},
    "notes before it verifies": {"02"},
    "never looks at the signature": {"02", "04", "05"},
    "looks whether there is a signature": {"02", "04", "05"},
    "takes v1 over the body alone": {"02"},
    "compares what there is of v1": {"02"},
    "verifies what it writes": {"05"},
    "verifies what it writes with spaces": {"05"},
    "never looks at the time": {"04"},
    "takes what is of tomorrow": {"04"},
    "looks at the first t, verifies the last": {"04"},
    "crashes on unknown members": {"03"},
    "drops unknown members silently": {"03"},
    "refuses a newer version": {"03"},
}
HONEST = [
    "",
    "works later",
    "says yes to everything",
    "unknown ids are not found",
    "leaves newer versions and unknown types alone",
    "refuses unknown types",
]
# What cannot be decided without an effects URL; the flaw with the rows left open and the rows broken.
BY_ANSWERS: dict[str, tuple[set[str], set[str]]] = {
    "": ({"01", "06"}, set()),
    "says yes to everything": ({"01", "02", "04", "05", "06"}, set()),
    "never looks at the signature": ({"01", "02", "04", "05", "06"}, set()),
    "crashes on unknown members": ({"01", "06"}, {"03"}),
    "refuses a newer version": ({"01", "06"}, {"03"}),
}
PROFILE = """
version = 1
[target]
name = "a receiver"
[claims]
surfaces = ["webhooks"]
[pace]
requests_per_second = 0
[budgets]
request = 60
confirmation = 8
[webhook]
header = "X-Weldproof-Signature"
signed_string = "{t}.{body}"
tolerance = 300
[webhook.receiver]
url = "URL/hook"
secret = {env = "FLAWED_SECRET"}
effects = "URL/effects/{id}"
"""


async def run_receiver_checks(flaw: str, profile: str = PROFILE, ids: str = "WH-RECV") -> EventLog:
    """Run WH-RECV, or a part of it, against a receiver with this flaw and return the log."""
    rows = load().select([ids])
    async with TestServer(FlawedReceiver(flaw).app()) as server:
        read = target.parse(profile.replace("URL", str(server.make_url("")).rstrip("/")))
        log = EventLog()
        await Run(Plan(rows, select_checks(rows, read), seed=1), read, log).execute()
        return log


def verdicts(log: EventLog) -> Mapping[str, str]:
    """Return the verdict of each row by its number."""
    return {event["id"].removeprefix("WH-RECV-"): event["verdict"] for event in log.of("row")}


def list_breaches(log: EventLog) -> set[str]:
    """Return the rows that are broken."""
    return {row for row, verdict in verdicts(log).items() if verdict in {"fail", "warn"}}


@pytest.fixture(scope="module")
def logs() -> Mapping[str, EventLog]:
    """The log of a run against each receiver, all run side by side; those judged by answers end with `?`."""
    os.environ["FLAWED_SECRET"] = SECRET
    blind = "\n".join(line for line in PROFILE.splitlines() if not line.startswith("effects"))

    async def all_of_them() -> dict[str, EventLog]:
        runs = {flaw: run_receiver_checks(flaw) for flaw in (*ROWS_BY_FLAW, *HONEST)}
        runs |= {f"{flaw}?": run_receiver_checks(flaw, blind) for flaw in BY_ANSWERS}
        return dict(zip(runs, await asyncio.gather(*runs.values()), strict=True))

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("flaw", ROWS_BY_FLAW)
def test_a_flawed_receiver_breaks_exactly_its_rows(flaw: str, logs: Mapping[str, EventLog]) -> None:
    """Each flaw breaks the rows of the rule it drops, and every other row passes."""
    assert list_breaches(logs[flaw]) == ROWS_BY_FLAW[flaw]
    assert {row for row, verdict in verdicts(logs[flaw]).items() if verdict == "pass"} == ALL_ROWS - ROWS_BY_FLAW[flaw]


@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_receiver_passes(kind: str, logs: Mapping[str, EventLog]) -> None:
    """A receiver passes whatever it answers, whenever it works, and whatever it does with types it does not know."""
    assert verdicts(logs[kind]) == dict.fromkeys(sorted(ALL_ROWS), "pass")


@pytest.mark.parametrize("flaw", BY_ANSWERS)
def test_answers_decide_only_what_they_tell(flaw: str, logs: Mapping[str, EventLog]) -> None:
    """Without an effects URL a refusal or a crash decides; a row that only effects can show is unbound."""
    left_open, broken = BY_ANSWERS[flaw]
    log = logs[f"{flaw}?"]
    assert {row for row, verdict in verdicts(log).items() if verdict == "inconclusive"} == left_open
    assert list_breaches(log) == broken
    reasons = {event["reason"] for event in log.of("row") if event["verdict"] == "inconclusive"}
    assert all("unbound: give [webhook.receiver] effects" in reason for reason in reasons)


@pytest.mark.parametrize("stall", ["1.5", "6"])
async def test_a_receiver_that_is_slow_for_a_while_is_not_judged_by_that(
    stall: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes too late for the suite, a plain event like one with unknown members, breaks no row."""
    monkeypatch.setenv("FLAWED_SECRET", SECRET)
    log = await run_receiver_checks(f"stalls for {stall}", PROFILE.replace("request = 60", "request = 1"), "WH-RECV-03")
    assert list_breaches(log) == set()


async def test_a_receiver_that_hangs_on_unknown_members_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes plain events meanwhile, so that what holds it up is in the others."""
    monkeypatch.setenv("FLAWED_SECRET", SECRET)
    log = await run_receiver_checks(
        "stalls at unknown members", PROFILE.replace("request = 60", "request = 5"), "WH-RECV-03"
    )
    assert verdicts(log) == {"03": "warn"}


def test_effects_of_doubles_and_of_forgeries_fail_a_run(logs: Mapping[str, EventLog]) -> None:
    """Two effects of one id and an effect of a wrong signature are breaches of a MUST; the other rows warn.

    So does a forgery that only keeps the genuine event away: that is more than the row says.
    """
    assert verdicts(logs["no memory"])["01"] == "fail"
    forging_flaws = [flaw for flaw, rows in ROWS_BY_FLAW.items() if "02" in rows]
    results = {flaw: verdicts(logs[flaw])["02"] for flaw in forging_flaws}
    assert results == {**dict.fromkeys(forging_flaws, "fail"), "notes before it verifies": "warn"}
    assert {verdicts(logs[flaw])[row] for flaw, rows in ROWS_BY_FLAW.items() for row in rows - {"01", "02"}} == {"warn"}


def test_the_secret_is_in_no_log(logs: Mapping[str, EventLog]) -> None:
    """Neither the receiver's secret nor any signature made with it is written down."""
    text = json.dumps([event for log in logs.values() for event in log.events])
    assert SECRET not in text
    assert "v1=$V1" in text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('signed_string = "{t}.{body}"\n', "", "[webhook] signed_string"),
        ('signed_string = "{t}.{body}"', 'signed_string = "{body}"', "takes no genuine delivery"),
        ('header = "X-Weldproof-Signature"\n', "", "[webhook] header, or [target] service_word"),
        ('env = "FLAWED_SECRET"', 'env = "NO_SUCH_VARIABLE"', "NO_SUCH_VARIABLE is not set"),
        ("effects/{id}", "effects/", "names no event"),
        ("URL/effects/{id}", "URL/nowhere/{id}", "takes no genuine delivery"),
        ("URL/hook", "http://127.0.0.1:9/hook", "takes no genuine delivery"),
    ],
)
async def test_a_profile_that_does_not_fit_judges_nobody(
    old: str, new: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not bound, or not as the receiver has it, makes every row inconclusive, and says what to look at."""
    monkeypatch.setenv("FLAWED_SECRET", SECRET)
    assert old in PROFILE
    profile = PROFILE.replace("confirmation = 8", "confirmation = 0.3")
    log = await run_receiver_checks("", profile.replace(old, new))
    assert set(verdicts(log).values()) == {"inconclusive"}
    assert all(reason in event["reason"] for event in log.of("row"))


async def test_a_day_is_stale_on_either_side_under_every_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bound tolerance a delivery of tomorrow warns, with what the profile leaves open, and fails no run."""
    monkeypatch.setenv("FLAWED_SECRET", SECRET)
    profile = PROFILE.replace("tolerance = 300\n", "")
    log = await run_receiver_checks("takes what is of tomorrow", profile, "WH-RECV-04")
    (finding,) = (event for event in log.of("judgement") if event["verdict"] != "pass")
    assert (finding["verdict"], finding["where"]["delivery"]) == ("warn", "t 86400 s ahead")
    assert "declares no tolerance" in finding["where"][ONLY_WARNS]
    (end_event,) = log.of("run.finished")
    assert end_event["exit_code"] == 0
    assert list_breaches(await run_receiver_checks("never looks at the time", profile)) == {"04"}


@pytest.mark.parametrize("tolerance", ["1", "5", "36000"])
async def test_a_receiver_of_another_tolerance_passes_where_none_is_declared(
    tolerance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it takes for stale, a day is."""
    monkeypatch.setenv("FLAWED_SECRET", SECRET)
    log = await run_receiver_checks(f"tolerates {tolerance} s", PROFILE.replace("tolerance = 300\n", ""), "WH-RECV-04")
    assert verdicts(log)["04"] == "pass"


async def test_the_same_seed_sends_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs with one seed, with one worker and with many, send the same requests but for live values."""
    monkeypatch.setenv("FLAWED_SECRET", SECRET)
    streams = []
    for workers in (1, 8):
        async with TestServer(FlawedReceiver().app()) as server:
            base = str(server.make_url("")).rstrip("/")
            read = target.parse(PROFILE.replace("URL", base))
            log = EventLog()
            await Run(Plan(ROWS, select_checks(ROWS, read), seed=5, workers=workers), read, log).execute()
            templates = (
                json.dumps(make_template(event["request"])) for event in log.of("exchange") if not event["retry"]
            )
            streams.append(Counter(templates))
    assert streams[0] == streams[1]


@pytest.mark.parametrize(
    ("flaw", "words", "code"),
    [
        ("no memory", ["WH-RECV-01"], 1),
        ("never looks at the time", ["WH-RECV-04"], 0),
        ("never looks at the time", ["WH-RECV-04", "--strict"], 1),
    ],
)
async def test_the_command_ends_as_the_rows_weigh(flaw: str, words: list[str], code: int, tmp_path: Path) -> None:
    """`weldproof run` ends with 1 where an id has two effects, and where a warning counts."""
    async with TestServer(FlawedReceiver(flaw).app()) as server:
        profile = tmp_path / "profile.toml"
        profile.write_text(PROFILE.replace("URL", str(server.make_url("")).rstrip("/")))
        words = ["run", *words, "--config", str(profile), "--report-dir", str(tmp_path / "report")]
        environment = {**os.environ, "FLAWED_SECRET": SECRET}
        process = await asyncio.to_thread(prepared.run, "conformance", *words, env=environment, timeout=600)
        assert process.returncode == code, process.stdout + process.stderr
        assert SECRET not in process.stdout + process.stderr


def test_by_default_the_suites_own_listener_is_tested(tmp_path: Path) -> None:
    """`weldproof run WH-RECV` with no receiver bound passes, needs no tenant and no chain, and says who was tested."""
    profile = tmp_path / "profile.toml"
    profile.write_text('[target]\ndefaults = "reference"\n[claims]\nsurfaces = ["webhooks"]\n')
    words = ["run", "WH-RECV", "--config", str(profile), "--report-dir", str(tmp_path / "report"), "--json"]
    process = prepared.run("conformance", *words, env=os.environ, timeout=600)
    assert process.returncode == 0, process.stdout + process.stderr
    judgements = [event for event in read_log(tmp_path / "report" / LOG) if event["event"] == "judgement"]
    assert {event["row"] for event in judgements} == {row.id for row in ROWS}
    assert {event["where"]["stand_in"] for event in judgements} == {"the suite's own listener"}
    rests_on = json.loads(process.stdout)["results"]["summary"]["extra"]["rests_on"]
    assert "6 requirements judged on the suite's own listener, because your profile names none." in rests_on
