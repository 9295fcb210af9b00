"""What CP checks make of control planes that they start: honest ones, ones with one flaw each, and of odd profiles."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance import target
from conformance.checks.control_plane import default_port_and_outbound_calls
from conformance.engine.check_loading import load_checks
from conformance.engine.runner import Plan, Run
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.processes.sandbox import command_prefix
from conformance.surfaces.control_plane import starting
from tests.reference.postgres_cluster import private_cluster

ROOT = Path(__file__).parents[4]
PROGRAM = Path(__file__).with_name("scripted_hub.py")
PROFILE = """
[target]
name = "a hub"
defaults = "reference"
[claims]
surfaces = ["control_plane"]
[pace]
requests_per_second = 0
[hub]
command = ["PYTHON", "-I", "PROGRAM"]
environment = {PORT = "{port}", FLAW = "THE-FLAW"}
propagation_budget = BUDGET
"""
CHECKS = {
    one.id: one
    for one in load_checks()
    if one.function.__module__
    in {
        f"conformance.checks.control_plane.{name}"
        for name in ("first_run", "default_port_and_outbound_calls", "restarts")
    }
}
STORE = "a_postgresql_dsn_moves_the_store"
TOKENS, RESTART_CHECK = "the_token_is_made_on_the_first_run", "what_was_registered_survives_a_restart"
ENCLOSED_CHECKS = {"defaults_are_those_of_the_interface", "only_health_addresses_are_called"}

# Each flaw with the check that looks and the rows that it must break there, no others.
FLAWS = [
    ("one token for all", TOKENS, {"CP-AUTH-07"}),
    ("the file is not the token", TOKENS, {"CP-AUTH-07", "CP-AUTH-09"}),
    ("another file", TOKENS, {"CP-AUTH-08", "CP-CONF-02"}),
    ("another folder", TOKENS, {"CP-AUTH-08", "CP-CONF-02"}),
    ("a new token each time", TOKENS, {"CP-AUTH-09"}),
    ("a token for everybody", TOKENS, {"CP-AUTH-10"}),
    ("forgets", RESTART_CHECK, {"CP-CONF-05"}),
    ("keeps nothing", RESTART_CHECK, {"CP-CONF-03", "CP-CONF-05"}),
    ("keeps registrations only", "a_restart_brings_nothing_back", {"CP-CONF-05"}),
    ("begins a chain at each start", "a_restart_brings_nothing_back", {"CP-CONF-05"}),
    ("makes new MACs on a start", "a_tampered_entry_is_found_out", {"CP-AUDIT-07"}),
    ("lists none", "the_control_plane_starts_first", {"CP-CONF-09"}),
    ("another port", "defaults_are_those_of_the_interface", {"CP-CONF-01"}),
    ("another folder", "defaults_are_those_of_the_interface", {"CP-CONF-02"}),
    ("calls home", "only_health_addresses_are_called", {"CP-CONF-06"}),
    ("resolves DIDs", "only_health_addresses_are_called", {"CP-CONF-06"}),
    ("follows redirects", "only_health_addresses_are_called", {"CP-CONF-06"}),
]


@pytest.fixture(scope="module")
def enclosures() -> bool:
    """Whether this machine allows enclosures."""
    return bool(asyncio.run(command_prefix()))


async def run_checks(*names: str, flaw: str = "", profile: str = PROFILE, budget: str = "60") -> EventLog:
    """Run checks that start the scripted hub and return the log."""
    checks = tuple(CHECKS[name] for name in names)
    rows = load().select([row for one in checks for row in one.rows])
    text = profile.replace('"PYTHON"', f'"{sys.executable}"').replace("PROGRAM", str(PROGRAM)).replace("THE-FLAW", flaw)
    log = EventLog()
    read = target.parse(text.replace("BUDGET", budget))
    await Run(Plan(rows, checks, seed=1, workers=2), read, log).execute()
    return log


def verdicts(log: EventLog) -> Mapping[str, str]:
    """Return the verdict of each row."""
    return {event["id"]: event["verdict"] for event in log.of("row")}


def find_breached_rows(log: EventLog) -> set[str]:
    """Return the rows that are broken."""
    return {row for row, verdict in verdicts(log).items() if verdict in {"fail", "warn"}}


async def test_an_honest_program_passes(enclosures: bool) -> None:
    """Every row passes; what PostgreSQL holds is documented if no server is given, and no program is left."""
    names = [name for name in CHECKS if enclosures or name not in ENCLOSED_CHECKS]
    log = await run_checks(*names)
    verdict_by_row = verdicts(log)
    applicable_verdicts = [verdict for verdict in verdict_by_row.values() if verdict != "not_applicable"]
    assert set(applicable_verdicts) == {"pass"}
    assert len(applicable_verdicts) == (12 if enclosures else 10)
    of_database = [event["verdict"] for event in log.of("judgement") if event["row"] == "CP-CONF-04"]
    assert of_database == ["pass", "documented"]


@pytest.mark.parametrize(
    ("flaw", "verdict"), [("keeps its SQLite file", "fail"), ("knows no PostgreSQL", "inconclusive")]
)
async def test_who_takes_no_postgresql_is_told_without_a_server(flaw: str, verdict: str) -> None:
    """Who takes issuers and asks no server of the DSN breaks the row; who ends at once leaves it open, with a hint."""
    log = await run_checks(STORE, flaw=flaw)
    assert verdicts(log) == {"CP-CONF-04": verdict}
    assert verdict == "fail" or "give its DSN as [hub] postgres" in next(iter(log.of("row")))["reason"]


async def test_a_token_may_be_written_a_moment_after_the_first_answer() -> None:
    """A first run need not have written its token before it answers calls that need no token."""
    log = await run_checks(TOKENS, flaw="writes its token late")
    assert set(verdicts(log).values()) == {"pass"}


async def test_a_started_hub_of_other_names_passes() -> None:
    """The shape of its registrations is discovered in a control plane that is started, too, if it is not bound."""
    profile = PROFILE.replace('"reference"', '"none"').replace("environment = {", 'environment = {LOOK = "foreign", ')
    log = await run_checks(RESTART_CHECK, "the_control_plane_starts_first", profile=profile)
    assert verdicts(log) == dict.fromkeys(("CP-CONF-03", "CP-CONF-05", "CP-CONF-09"), "pass")


async def test_a_folder_that_the_profile_tells_is_not_told_where_defaults_are_looked_at(enclosures: bool) -> None:
    """A setting with `{data_dir}` is left out there, because no folder is given."""
    if not enclosures:
        pytest.skip("this machine allows no network namespaces")
    profile = PROFILE.replace("environment = {", 'environment = {S2CP_DATA_DIR = "{data_dir}", ')
    log = await run_checks("defaults_are_those_of_the_interface", profile=profile)
    assert verdicts(log) == {"CP-CONF-01": "pass", "CP-CONF-02": "pass"}


@pytest.mark.parametrize(("flaw", "check", "rows"), FLAWS, ids=lambda one: one if isinstance(one, str) else "")
async def test_a_flaw_breaks_exactly_its_rows(
    flaw: str, check: str, rows: set[str], enclosures: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each flaw breaks the rows of the rule it drops."""
    if check in ENCLOSED_CHECKS and not enclosures:
        pytest.skip("this machine allows no network namespaces")
    monkeypatch.setattr(default_port_and_outbound_calls, "ANSWERS_SECONDS", 3.0 if flaw == "another port" else 60.0)
    log = await run_checks(
        check, flaw=flaw, budget="0.7" if flaw in {"forgets", "keeps nothing", "lists none"} else "60"
    )
    assert find_breached_rows(log) == rows


async def test_a_machine_without_namespaces_judges_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no enclosure can be made, rows that need one are documented, with the reason."""
    monkeypatch.setenv("PATH", str(tmp_path))
    log = await run_checks(*ENCLOSED_CHECKS)
    assert set(verdicts(log).values()) == {"documented"}
    assert all("network namespace" in event["reason"] for event in log.of("row"))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('command = ["PYTHON", "-I", "PROGRAM"]\n', "", "give [hub] command"),
        ('"PYTHON", "-I", "PROGRAM"', '"/nowhere/hub"', "/nowhere/hub: No such file"),
        ('"PYTHON", "-I", "PROGRAM"', '"PYTHON", "-c", "print(1/0)"', "ZeroDivisionError"),
    ],
)
async def test_a_profile_that_does_not_fit_judges_nobody(old: str, new: str, reason: str) -> None:
    """No command, or one that does not come up: every row is open, and says what was the matter."""
    assert old in PROFILE
    log = await run_checks(TOKENS, RESTART_CHECK, profile=PROFILE.replace(old, new))
    assert set(verdicts(log).values()) == {"inconclusive"}
    assert all(reason in event["reason"] for event in log.of("row"))


async def test_no_secret_is_among_arguments_or_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token that a started control plane made is in its file alone."""
    secrets_seen: list[str] = []
    read = starting.token_in

    def read_token(folder: Path) -> str | None:
        token = read(folder)
        if token is not None:
            secrets_seen.append(token)
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = process.read_bytes()
            except OSError:
                continue
            assert not any(one.encode() in words for one in secrets_seen)
        return token

    monkeypatch.setattr(starting, "token_in", read_token)
    log = await run_checks(RESTART_CHECK)
    assert secrets_seen
    text = json.dumps(list(log.events))
    assert not any(token in text for token in secrets_seen)


@pytest.mark.postgres
async def test_where_the_store_is_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference, which obeys S2CP_DB, passes; a hub that keeps its SQLite file, or ends, with that set does not.

    The server was made in the locale C without naming an encoding, which is what `initdb` does where no locale is set.
    """
    reference = PROFILE.replace('"-I", "PROGRAM"', '"-m", "reference.control_plane"').replace("{PORT =", "{S2CP_PORT =")
    reference = reference.replace("S2CP_PORT", f'PYTHONPATH = "{ROOT}", WP_MODE = "test", S2CP_PORT')
    with private_cluster("SQL_ASCII") as dsn:
        monkeypatch.setenv("SCRIPTED_DSN", dsn)
        for profile, flaw, verdict in (
            (reference, "", "pass"),
            (PROFILE, "keeps its SQLite file", "fail"),
            (PROFILE, "knows no PostgreSQL", "fail"),
        ):
            log = await run_checks(STORE, flaw=flaw, profile=profile + 'postgres = {env = "SCRIPTED_DSN"}\n')
            assert verdicts(log) == {"CP-CONF-04": verdict}
            assert dsn not in json.dumps(list(log.events))
