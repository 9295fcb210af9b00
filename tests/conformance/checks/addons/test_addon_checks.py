"""What CP-ADDON and its neighbours make of honest addons, in two languages, and of addons with one flaw each."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from conformance import target
from conformance.checks.addons import ports_and_commands
from conformance.engine.check_loading import load_checks
from conformance.engine.runner import Plan, Run
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.processes.sandbox import command_prefix
from programs.node import node
from tests import prepared
from tests.conformance.checks.control_plane.scripted_hub import TOKEN, Hub, serve_hub

ROOT = Path(__file__).parents[4]
PROGRAM = Path(__file__).with_name("scripted_addon.py")
EXAMPLE = ROOT / "examples" / "addon.mjs"
PROFILE = """
[target]
name = "an addon"
[claims]
surfaces = ["control_plane"]
[pace]
requests_per_second = 0
[hub]
bundled = ["atb_verifier"]
propagation_budget = BUDGET
[addons.atb_verifier]
command = ["PYTHON", "PROGRAM"]
environment = {PORT = "{port}", FLAW = "THE-FLAW", PYTHONPATH = "ROOT"}
issuers_at = "issuers"
question = {path = "/verify", body = {credential = "{credential}"}, valid_at = "valid"}
"""
LIKE_THE_REFERENCE = PROFILE.replace('name = "an addon"', 'name = "an addon"\ndefaults = "reference"')
CHECKS = {one.id: one for one in load_checks() if one.function.__module__.startswith("conformance.checks.addons.")}
JOINS, LISTING_CHECK, SHARES = (
    "an_addon_joins_the_suites_hub",
    "an_addon_is_listed_by_the_hub",
    "an_addon_shares_the_trust_set",
)
RESOLVES, FOLLOWS = "the_verifier_resolves_atb_keys", "bundled_services_follow_the_trust_set"
PROVES = "forged_receipts_are_refused"
ANSWERS = (
    "the_verifier_answers_as_specified",
    "the_validator_answers_as_specified",
    "the_receipt_service_answers_as_specified",
    "an_addon_outlives_its_hub",
)
PORTS, COMMANDS = "bundled_services_have_their_ports", "bundled_commands_follow_the_pattern"

# What never comes is waited for this long, in seconds: long enough for what comes all the same on a busy machine.
SHORT = "30"

# Each flaw with the check that looks and the rows that it must break there, no others.
FLAWS = [
    ("no health", JOINS, {"CP-ADDON-01", "CP-ADDON-08"}),
    ("no trust set", JOINS, {"CP-ADDON-02", "CP-ADDON-08"}),
    ("no registration", JOINS, {"CP-ADDON-03", "CP-ADDON-04", "CP-ADDON-05", "CP-ADDON-08"}),
    ("no token", JOINS, {"CP-ADDON-03", "CP-ADDON-05", "CP-ADDON-08"}),
    ("another token", JOINS, {"CP-ADDON-03", "CP-ADDON-05", "CP-ADDON-08"}),
    ("another address", JOINS, {"CP-ADDON-04", "CP-ADDON-08"}),
    ("another address", LISTING_CHECK, {"CP-ADDON-06"}),
    ("no health", LISTING_CHECK, {"CP-ADDON-06"}),
    ("no registration", LISTING_CHECK, {"CP-ADDON-06"}),
    ("ignores the trust set", SHARES, {"CP-ADDON-07", "CP-ISSUER-10"}),
    ("pulls once", SHARES, {"CP-ADDON-07", "CP-ISSUER-10"}),
    ("no trust set", SHARES, {"CP-ADDON-07", "CP-ISSUER-10"}),
    ("no atb-keys", RESOLVES, {"CP-TRUST-07"}),
    ("reads atb-keys and takes the trust set", RESOLVES, {"CP-TRUST-07"}),
    ("accepts no credential", RESOLVES, {"CP-TRUST-07"}),
    ("looks at no signature", RESOLVES, {"CP-TRUST-07"}),
    ("looks at the signature alone", RESOLVES, {"CP-TRUST-07"}),
    ("accepts no credential", FOLLOWS, {"CP-ISSUER-10", "CP-ISSUER-11"}),
    ("takes everybody", FOLLOWS, {"CP-ISSUER-10", "CP-ISSUER-11"}),
    ("never forgets", FOLLOWS, {"CP-ISSUER-11"}),
    ("looks at no signature", FOLLOWS, {"CP-ISSUER-10"}),
    ("looks at the signature alone", FOLLOWS, {"CP-ISSUER-10"}),
    ("another port", PORTS, {"CP-CONF-07"}),
]


async def run_checks(
    *names: str, flaw: str = "", profile: str = PROFILE, url: str = "", budget: str = "60"
) -> EventLog:
    """Run checks that start the scripted addon and return the log."""
    checks = tuple(CHECKS[name] for name in names)
    rows = load().select([row for one in checks for row in one.rows])
    values = {"PYTHON": sys.executable, "PROGRAM": str(PROGRAM), "THE-FLAW": flaw, "ROOT": str(ROOT), "BUDGET": budget}
    text = profile.replace("THE-URL", url)
    for name, value in values.items():
        text = text.replace(f'"{name}"', f'"{value}"').replace(f"= {name}\n", f"= {value}\n")
    log = EventLog()
    await Run(Plan(rows, checks, seed=1, workers=2), target.parse(text), log).execute()
    return log


def verdicts(log: EventLog) -> Mapping[str, str]:
    """Return the verdict of each row."""
    return {event["id"]: event["verdict"] for event in log.of("row")}


def find_breached_rows(log: EventLog) -> set[str]:
    """Return the rows that are broken."""
    return {row for row, verdict in verdicts(log).items() if verdict in {"fail", "warn"}}


@pytest.fixture(scope="module")
def logs() -> Mapping[tuple[str, str], EventLog]:
    """The log of each flawed addon under its check, run side by side: what never comes is waited for in all of them."""

    async def all_of_them() -> dict[tuple[str, str], EventLog]:
        results = await asyncio.gather(*(run_checks(check, flaw=flaw, budget=SHORT) for flaw, check, _ in FLAWS))
        return {(flaw, check): log for (flaw, check, _), log in zip(FLAWS, results, strict=True)}

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ports_and_commands, "ANSWERS_SECONDS", float(SHORT))
        return asyncio.run(all_of_them())


async def test_an_honest_addon_passes() -> None:
    """Every row of the contract passes, its keys and its default port, and so do the rows about issuers."""
    left_out = {COMMANDS, *ANSWERS, *(() if await command_prefix() else (PORTS,))}
    names = [name for name in CHECKS if name not in left_out]
    log = await run_checks(*names)
    assert set(verdicts(log).values()) == {"pass"}
    assert {f"CP-ADDON-0{number}" for number in range(1, 9)} <= set(verdicts(log))


@pytest.mark.parametrize(("flaw", "check", "rows"), FLAWS, ids=lambda one: one if isinstance(one, str) else "")
def test_a_flaw_breaks_exactly_its_rows(
    flaw: str, check: str, rows: set[str], logs: Mapping[tuple[str, str], EventLog]
) -> None:
    """Each flaw breaks the rows of the rule it drops, and every other row of the check passes."""
    log = logs[flaw, check]
    if check == PORTS and verdicts(log) == {"CP-CONF-07": "documented"}:
        pytest.skip("this machine allows no network namespaces")
    assert find_breached_rows(log) == rows
    assert set(verdicts(log).values()) <= {"pass", "fail", "warn"}


CONDITIONS = ["a passport reaches any score", "any issuer is the expected one", "asks its own clock only"]


@pytest.mark.parametrize("flaw", CONDITIONS)
async def test_a_condition_of_a_question_that_is_not_judged_is_caught(flaw: str) -> None:
    """A verifier with the reference's choices judges each condition of a question."""
    log = await run_checks(RESOLVES, flaw=flaw, profile=LIKE_THE_REFERENCE, budget=SHORT)
    assert find_breached_rows(log) == {"CP-TRUST-07"}


@pytest.mark.parametrize(("flaw", "reference"), [("", True), ("looks at no condition", False)])
async def test_conditions_are_asked_where_the_reference_binds(flaw: str, reference: bool) -> None:
    """The interface names no conditions, so a verifier with other choices may know none."""
    log = await run_checks(RESOLVES, flaw=flaw, profile=LIKE_THE_REFERENCE if reference else PROFILE)
    assert set(verdicts(log).values()) == {"pass"}


@pytest.mark.parametrize(("claim", "verdict"), [("", "not_applicable"), ('specification = "1"\n', "fail")])
async def test_the_answers_of_8_2_are_asked_for_where_the_specification_is_claimed(claim: str, verdict: str) -> None:
    """The scripted addon answers with one member at another path, which only the specification rules out."""
    profile = PROFILE.replace("[claims]\n", f"[claims]\n{claim}")
    log = await run_checks(ANSWERS[0], profile=profile, budget="5")
    assert verdicts(log) == {"CP-ADDON-09": verdict}


@pytest.mark.parametrize("way", ["registers first", "nested, with the health path"])
async def test_an_addon_may_join_in_its_own_way(way: str) -> None:
    """Neither the order of the two calls nor the shape of a registration is prescribed."""
    assert find_breached_rows(await run_checks(JOINS, LISTING_CHECK, SHARES, flaw=way)) == set()


@pytest.mark.parametrize("between", ["0", "0.5"])
async def test_an_addon_that_pulls_when_it_is_asked_is_not_judged_by_its_pulls(between: str) -> None:
    """If it is not bound what an addon trusts, pulling once is no breach, however slowly it reads; asked it passes."""
    unbound = PROFILE.replace('issuers_at = "issuers"\n', "").replace("= BUDGET", "= 2")
    unbound = unbound.replace("environment = {", f'environment = {{BETWEEN_DOCUMENTS = "{between}", ')
    log = await run_checks(SHARES, flaw="pulls when asked", profile=unbound)
    assert set(verdicts(log).values()) == {"inconclusive"}
    assert find_breached_rows(await run_checks(FOLLOWS, flaw="pulls when asked")) == set()


@pytest.mark.parametrize(("flaw", "row"), [("", "pass"), ("no registration", "fail"), ("no health", "pass")])
async def test_a_real_hub_lists_the_addon(flaw: str, row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a control plane at hand its own posture decides; that an addon is listed as unwell is another row's."""
    monkeypatch.setenv("SCRIPTED_TOKEN", TOKEN)
    profile = PROFILE.replace("[hub]\n", '[hub]\ntoken = {env = "SCRIPTED_TOKEN"}\n')
    profile += '[surfaces.control_plane]\nurl = "THE-URL"\n'
    with ExitStack() as stack:
        url = stack.enter_context(serve_hub(_Told()))
        log = await run_checks(
            LISTING_CHECK, flaw=flaw, profile=profile, url=url, budget="10" if row == "fail" else "60"
        )
    assert verdicts(log)["CP-ADDON-06"] == row


class _Told(Hub):
    """A hub whose posture tells addresses."""

    def _posture(self, services: list[dict[str, object]]) -> object:
        posture = super()._posture(services)
        return {**posture, "addresses": [one["url"] for one in services]}


@pytest.mark.parametrize(
    ("console", "word", "verdict"),
    [
        ("weldproof", "weldproof", "fail"),
        ("Weldproof-credential", "weldproof", "fail"),
        ("other-atb-credential-verifier", "weldproof", "fail"),
        ("weldproof-atb-credential-verifier", "weldproof", "fail"),
        ("mine-atb-credential-verifier", "mine", "pass"),
        ("beside/mine-atb-credential-verifier", "mine", "pass"),
        ("beside/mine_atb_credential_verifier", "mine", "fail"),
    ],
)
async def test_console_commands(
    console: str, word: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command of the pattern that is installed and serves passes; any other name, or none there, does not."""
    if "/" in console:
        console = str(tmp_path / console)
        Path(console).parent.mkdir()
    if console.startswith(str(tmp_path)) or verdict == "pass":
        script = tmp_path / console
        script.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -m http.server --bind 127.0.0.1 -d "{tmp_path}" "$PORT"\n'
        )
        script.chmod(0o755)
        (tmp_path / "health").write_text("ok")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    profile = PROFILE.replace('name = "an addon"', f'name = "an addon"\nservice_word = "{word.capitalize()}"')
    log = await run_checks(COMMANDS, profile=profile + f'console = "{console}"\n')
    assert verdicts(log) == {"CP-CONF-08": verdict}


@pytest.mark.parametrize(
    ("system", "flaw", "verdict"),
    [
        ("bulletproofs-ed25519/1", "", "fail"),
        ("bulletproofs-ed25519/1", "accepts no credential", "fail"),
        ("groth16", "", None),
    ],
)
async def test_proofs_are_asked_about_where_their_system_is_claimed(
    system: str, flaw: str, verdict: str | None
) -> None:
    """An addon that claims the system and verifies no proof, or accepts none, fails; other systems are not tried."""
    question = f'{{credential = "{{zk_receipt}}"}}, proof_system = "{system}"'
    profile = PROFILE.replace('{credential = "{credential}"}', question)
    log = await run_checks(PROVES, flaw=flaw, profile=profile, budget="12" if flaw else "60")
    assert verdicts(log) == {"CP-ADDON-08": verdict or "not_applicable"}


async def test_a_server_s_fault_is_no_refusal() -> None:
    """An addon that answers 500 to a credential that it rejects neither passes nor fails for it."""
    log = await run_checks(RESOLVES, FOLLOWS, flaw="breaks on what it refuses", budget="60")
    assert set(verdicts(log).values()) == {"inconclusive"}
    assert {*verdicts(log)} == {"CP-TRUST-07", "CP-ISSUER-10", "CP-ISSUER-11"}


async def test_an_operator_without_bundled_services_is_not_asked_for_them() -> None:
    """Rows about bundled services do not apply if the profile says that no service is bundled."""
    profile = PROFILE.replace('["atb_verifier"]', "[]").replace("addons.atb_verifier", "addons.mine")
    verdict_by_row = verdicts(await run_checks(JOINS, RESOLVES, FOLLOWS, PORTS, COMMANDS, profile=profile))
    absent = {row for row, verdict in verdict_by_row.items() if verdict == "not_applicable"}
    assert absent == {"CP-ADDON-08", "CP-TRUST-07", "CP-ISSUER-10", "CP-ISSUER-11", "CP-CONF-07", "CP-CONF-08"}
    assert {verdict for row, verdict in verdict_by_row.items() if row not in absent} == {"pass"}


async def ran(*words: str, cwd: Path) -> tuple[int, str]:
    """Run the command and return its exit code and its words."""
    process = await asyncio.to_thread(prepared.run, "conformance", "run", *words, env=os.environ, cwd=cwd, timeout=600)
    return process.returncode, process.stdout + process.stderr


async def test_the_example_in_node_passes(tmp_path: Path) -> None:
    """`weldproof run CP-ADDON --addon -- node addon.mjs` passes seven rows with the page of Node in examples."""
    code, output = await ran("CP-ADDON", "--json", "--addon", "--", str(node().path), str(EXAMPLE), cwd=tmp_path)
    assert code == 0, output
    verdict_by_row = {one["name"]: one["status"] for one in json.loads(output)["results"]["tests"]}
    assert sum(status == "passed" for status in verdict_by_row.values()) == 7, verdict_by_row


SPOILED_LINES = {
    "no registration": ("if (!registered) await register();", ""),
    "no trust set": ("    await pull();\n", ""),
    "another token": ("Bearer ${token}", "Bearer none"),
    "another address": ("base_url: self", "base_url: hub"),
    "no health": ("response.writeHead(known ? 200 : 404", "response.writeHead(404"),
}


async def test_the_example_with_a_line_spoiled_fails(tmp_path: Path) -> None:
    """Without any one of the contract's steps the same page fails."""
    text = EXAMPLE.read_text("utf-8")
    profile = '[claims]\nsurfaces = ["control_plane"]\n[hub]\npropagation_budget = 10\n'
    (tmp_path / "short.toml").write_text(profile)

    async def run_spoiled(name: str, line: str, instead: str) -> int:
        assert text.count(line) == 1
        page = tmp_path / f"{name.replace(' ', '-')}.mjs"
        page.write_text(text.replace(line, instead), "utf-8")
        rows = (f"CP-ADDON-0{number}" for number in range(1, 6))
        addon = ("--addon", "--", str(node().path), str(page))
        words = (*rows, "--config", "short.toml", "--report-dir", page.stem, *addon)
        return (await ran(*words, cwd=tmp_path))[0]

    codes = await asyncio.gather(*(run_spoiled(name, *change) for name, change in SPOILED_LINES.items()))
    assert dict(zip(SPOILED_LINES, codes, strict=True)) == dict.fromkeys(SPOILED_LINES, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("CP-ADDON", "--addon"), "needs the command of the addon after --"),
        (("CP-ADDON", "--addon", "--"), "needs the command of the addon after --"),
        (("CP-ADDON", "--addon", "--reference", "--", "true"), "cannot be combined with --reference"),
        (("CP-ADDON", "--addon-url", "http://127.0.0.1:1"), "--addon-url needs --addon"),
        (("CP-ADDON", "--addon", "--addon-url", "here", "--", "true"), "give an address"),
    ],
)
async def test_what_cannot_be_used_ends_with_two(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """No command, no address, or another target at the same time: exit code 2 and a sentence."""
    code, text = await ran(*words, cwd=tmp_path)
    assert (code, said in " ".join(text.split())) == (2, True), text


async def test_an_addon_that_ends_is_not_judged(tmp_path: Path) -> None:
    """An addon that does not start gives no verdict; its last output is reported without the token."""
    words = ("CP-ADDON-01", "--addon", "--", sys.executable, "-c", "import os; print(os.environ['S2_HUB_TOKEN']); 1/0")
    code, output = await ran(*words, cwd=tmp_path)
    assert code == 3, output
    assert "ZeroDivisionError" in output
    assert "$ADMIN_TOKEN" in output


async def test_the_working_folder_s_profile_is_the_target_of_other_rows(tmp_path: Path) -> None:
    """`run CP --addon` wants a control plane, which ./weldproof.toml names; an addon's own rows want none."""
    (tmp_path / "weldproof.toml").write_text("neither read nor written [")
    addon = ("--addon", "--addon-url", "here", "--", "true")
    alone: tuple[tuple[str, ...], ...] = ((), ("CP-ADDON-01",))
    for ids in alone:
        code, output = await ran(*ids, *addon, cwd=tmp_path)
        assert (code, "--addon-url here: give an address" in output) == (2, True), output
    beyond: tuple[tuple[str, ...], ...] = (("CP",), ("CP-ADDON-01", "CP-TRUST"))
    for ids in beyond:
        code, output = await ran(*ids, *addon, cwd=tmp_path)
        assert (code, "weldproof.toml: not TOML" in output) == (2, True), output
