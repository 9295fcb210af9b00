"""`weldproof run --compare-with`: the receipts of two targets side by side."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from conformance import target
from conformance.cli.run import command
from conformance.cli.run.execution import _post_run_steps
from conformance.cli.targets import bare_profile
from conformance.engine.runner import Plan
from conformance.ledger import load
from conformance.log.events import LOG, read_log
from conformance.oracles import jose
from conformance.report import json as json_report
from tests import prepared
from tests.stack import running_stack

STACK = ("--surface", "rail", "--surface", "gateway", "--lane", "algorand", "--no-addons")
# Another implementation as far as a receipt can tell: another service word, price and set of services.
OTHER_SETTINGS = (
    *("--setting", "WP_SERVICE_WORD=Acme", "--setting", "WP_RAIL_DISABLED_SERVICES=rfc9421-verify"),
    *("--setting", "WP_RAIL_PRICES=receipt-verify=20000,rfc9421-verify=10000,compliance-receipt=50000"),
)


def grades(comparison: dict[str, Any]) -> dict[str, str]:
    """Return the grade of each claim of a payload."""
    return {one["name"]: one["grade"] for one in comparison["claims"] if one["part"] == "payload"}


def test_the_same_calls_on_two_stacks_end_up_side_by_side(tmp_path: Path) -> None:
    """Two stacks that differ in word, price and services: each call is compared, or each report says why not."""
    with (
        running_stack(tmp_path / "a", *STACK) as ours,
        running_stack(tmp_path / "b", *STACK, *OTHER_SETTINGS) as other_stack,
    ):
        text = Path(other_stack["profile"]).read_text()
        beside = tmp_path / "other.toml"
        # Claimed on one side only; nothing can be paid there.
        beside.write_text(text.replace('lanes = ["algorand"]', 'lanes = ["algorand", "base"]'))
        assert target.load(beside).claims.lanes == ("algorand", "base")
        words = ["run", "RAIL-KEY-03", "GW-SCR-01", "--config", ours["profile"], "--compare-with", str(beside)]
        words += ["--report-dir", str(tmp_path / "report")]
        result = prepared.run("conformance", *words, env=os.environ, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    document = json.loads((tmp_path / "report" / "report.json").read_text())
    jsonschema_rs.validator_for(dict(json_report.schema())).validate(document)
    comparisons = {(one["call"], one["lane"]): one for one in document["results"]["extra"]["comparisons"]}
    call = {name: (f"POST /pay/v1/{name}", "algorand") for name in ("verify/receipt", "compliance/receipt")}
    screening_call, missing_call = ("POST /compliance/screen", None), ("POST /pay/v1/verify/rfc9421", "algorand")
    attestation_calls = {name: (f"{place}: settlement attestation", lane) for name, (place, lane) in call.items()}
    assert set(comparisons) == {
        *call.values(),
        *attestation_calls.values(),
        screening_call,
        missing_call,
        ("paid calls", "base"),
    }
    assert "does not claim the lane base" in comparisons["paid calls", "base"]["missing"]
    assert "503" in comparisons[missing_call]["missing"]
    for comparison in (comparisons[place] for place in (*call.values(), *attestation_calls.values(), screening_call)):
        assert comparison["missing"] is None
        assert [comparison[side]["verified"] for side in ("left", "right")] == [True, True]
        assert comparison["left"]["name"] != comparison["right"]["name"]

    dearer, alike = comparisons[call["verify/receipt"]], comparisons[call["compliance/receipt"]]
    assert {name for name, grade in grades(dearer).items() if grade == "matters"} == {"amount_microunits"}
    assert "matters" not in grades(alike).values()
    for comparison in (dearer, alike):
        claim_grades = grades(comparison)
        assert {claim_grades[name] for name in ("kind", "settled_payment_ref", "iss", "payment_reference_hash")} == {
            "expected"
        }
        assert {claim_grades[name] for name in ("request_hash", "service_id", "network", "asset")} == {"same"}
    dearer_settled, settled_comparison = (
        comparisons[attestation_calls[name]] for name in ("verify/receipt", "compliance/receipt")
    )
    claims_that_matter = {name for name, grade in grades(dearer_settled).items() if grade == "matters"}
    assert claims_that_matter == {"settlement_amount.amount_minor"}
    assert "matters" not in grades(settled_comparison).values()
    words_told = [claim for claim in dearer["claims"] if claim["name"] == "kind"]
    assert (words_told[0]["left"], words_told[0]["right"]) == (
        '"weldproof/payable-svc-receipt/1"',
        '"acme/payable-svc-receipt/1"',
    )
    assert "matters" not in grades(comparisons[screening_call]).values()

    _assert_the_exchanges_are_there(tmp_path / "report" / LOG, dearer)
    page = (tmp_path / "report" / "index.html").read_text()
    for shown in ("Receipts side by side", "acme/payable-svc-receipt/1", "does not claim the lane base"):
        assert shown in page
    assert "this changes no verdict" in " ".join(result.stdout.split())


def _assert_the_exchanges_are_there(log: Path, comparison: dict[str, Any]) -> None:
    """Each side's receipt is the one that the exchange it names answered with, at the address it names."""
    exchanges = {event["n"]: event for event in read_log(log) if event["event"] == "exchange"}
    for side in (comparison["left"], comparison["right"]):
        exchange = exchanges[side["exchange"]]
        assert exchange["request"]["url"] == side["source"]
        place, _, name = side["place"].partition(":")
        assert place == "body"
        assert json.loads(exchange["response"]["body"])[name] == side["receipt"]
        assert jose.parse(side["receipt"]).claims()["service_id"] == "receipt-verify"


@pytest.mark.parametrize(
    "words",
    [
        ["--compare-with", "nowhere.toml"],
        ["--compare-with", "rail=ftp://127.0.0.1"],
        ["--compare-with", "one.toml", "--compare-with", "two.toml"],
        ["--compare-with", "rail=http://127.0.0.1:1", "--compare-with", "one.toml"],
        ["--addon", "--compare-with", "rail=http://127.0.0.1:1", "--", "true"],
    ],
)
def test_what_cannot_be_beside_is_a_fault_of_usage(words: list[str]) -> None:
    """A profile that is not there, several, addresses beside profiles, and addons exit 2 before anything is called."""
    result = CliRunner().invoke(command, ["RAIL-KEY-03", "--target", "rail=http://127.0.0.1:1", *words])
    assert result.exit_code == 2, result.output
    assert "--compare-with" in result.output


def test_the_other_target_is_guarded_against_real_money(tmp_path: Path) -> None:
    """A main network's node of the other target needs --main-network as much as one's own does."""
    other_profile = tmp_path / "other.toml"
    other_profile.write_text(
        '[surfaces.rail]\nurl = "https://rail.example"\n[chains.base]\nrpc = "https://node.example"\n'
    )
    ours = ["RAIL-KEY-03", "--target", "rail=http://127.0.0.1:1"]
    result = CliRunner().invoke(command, [*ours, "--compare-with", str(other_profile)])
    assert result.exit_code == 2
    assert "--main-network" in result.output


def test_an_address_alone_is_paid_on_the_nodes_of_the_runs_own_target() -> None:
    """A profile of the other target names its own nodes; an address says nothing of any, so the run's are taken."""
    ours = target.parse('[chains.algorand]\nalgod = "http://127.0.0.1:1"')
    with_nodes = target.parse('[chains.algorand]\nalgod = "http://127.0.0.1:2"')
    plan = Plan(load().select(["RAIL-KEY-03"]), (), seed=1)
    for other_profile, node in ((bare_profile(["rail=http://127.0.0.1:3"]), ours), (with_nodes, with_nodes)):
        step: Any = _post_run_steps(other_profile, plan, ours)["beside"]
        assert (step.other_target.chains, step.surfaces) == (node.chains, {"rail"})
    assert _post_run_steps(None, plan, ours) == {}
