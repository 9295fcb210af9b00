"""`weldproof check PAYER -- COMMAND` looks for the six faults of payers that lose most money."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.first_look.payer_fault_report import FAULTS, HONEST_CALL, PayerLook, lines
from conformance.ledger import load
from conformance.outcome import Verdict
from conformance.report.row_result import Finding, RowResult
from tests import prepared

PAYER = (sys.executable, "-m", "reference.variants.payer")
# Long enough for a busy machine, and a node that a first look must not use.
PATIENT = ("--seconds", "600")
PROFILE = """
[claims]
surfaces = ["payer"]
lanes = ["base"]
[chains.base]
network = "base_sepolia"
rpc = "http://127.0.0.1:9"
[payer]
seconds = 300
[payer.chains.base]
network = "base_sepolia"
rpc = "http://127.0.0.1:9"
"""


def run_check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return prepared.run("conformance", "check", *words, env=os.environ, cwd=folder, timeout=900)


def check_as_json(folder: Path, *command: str, options: Sequence[str] = ()) -> dict[str, Any]:
    """Return the document about a payer that claims options."""
    profile = PROFILE.replace("[chains.base]", f"options = {list(options)}\n[chains.base]", 1)
    (folder / "weldproof.toml").write_text(profile, "utf-8")
    result = run_check(folder, "PAYER", "--json", *PATIENT, "--", *command)
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["exit_code"] == result.returncode, result.stderr
    return document


def test_the_payer_of_the_reference_has_none_of_the_faults(tmp_path: Path) -> None:
    """On a simulated chain, which the profile's nodes do not replace; no file is left."""
    document = check_as_json(tmp_path, *PAYER)
    assert document["exit_code"] == 0
    assert [fault["verdict"] for fault in document["faults"]] == ["pass"] * 6
    assert document["honest_call"]["verdict"] == "pass"
    assert int(document["spent_units"]) > 0
    assert document["next"].startswith("weldproof run PAYER --lane base -- ")
    assert [path.name for path in tmp_path.iterdir()] == ["weldproof.toml"]


def test_a_payer_that_pays_twice_is_found(tmp_path: Path) -> None:
    """The fault, its rows and the fix; the others are not found."""
    mutant = (sys.executable, "-m", "reference.variants.mutants", "payer-pays-again-without-answer")
    document = check_as_json(tmp_path, *mutant, "reference.variants.payer")
    assert document["exit_code"] == 1
    assert [fault["verdict"] for fault in document["faults"]].count("fail") == 1
    (fault,) = (one for one in document["faults"] if one["verdict"] == "fail")
    assert {row["id"] for row in fault["requirements"]} == {"PAYER-ONCE-01", "PAYER-ONCE-02"}
    assert all(row["fix"] for row in fault["requirements"] if row["verdict"] == "fail")


def test_a_fault_over_a2a_is_found_if_the_payer_claims_it(tmp_path: Path) -> None:
    """A payer that reads its limit over HTTP only."""
    mutant = (sys.executable, "-m", "reference.variants.mutants", "payer-a2a-limit-unread", "reference.variants.payer")
    document = check_as_json(tmp_path, *mutant, options=["payer.a2a"])
    assert document["exit_code"] == 1
    (fault,) = (one for one in document["faults"] if one["verdict"] == "fail")
    assert [row["id"] for row in fault["requirements"] if row["verdict"] == "fail"] == ["PAYER-OFFER-01"]
    assert "over A2A" in json.dumps(fault)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("PAYER",), "weldproof run PAYER -- "),
        (("PAYRE", "--", "python", "pay.py"), "did you mean PAYER?"),
        (("http://127.0.0.1:9", "--", "python", "pay.py"), "a payer: weldproof check PAYER -- COMMAND"),
        (("http://127.0.0.1:9", "--lane", "base"), "--lane and --stock are for a payer"),
        (("PAYER", "--pay", "--", "pay"), "for a server, not for a payer"),
        (("PAYER", "--stock", "--lane", "solana", "--", "pay"), "without a weld on base only"),
    ],
)
def test_what_is_no_payer_is_an_error_of_usage(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    """Exit code 2, with the form that is meant."""
    result = run_check(tmp_path, *words)
    assert (result.returncode, message in result.stderr, result.stdout) == (2, True, ""), result.stderr


def make_look(verdicts: dict[str, Verdict]) -> PayerLook:
    """Return a look with verdicts; the other rows pass."""
    rows = {}
    for row in (HONEST_CALL, *(row for fault in FAULTS for row in fault.rows)):
        verdict = verdicts.get(row, Verdict.PASS)
        finding = Finding(
            "check", verdict, "one payment", "two payments", "Pay once.", {"scene": "an answer is lost"}, 1
        )
        rows[row] = RowResult(load()[row], verdict, "too slow", ("check",), None, (finding,))
    return PayerLook(("node", "pay me.mjs"), "base", False, False, rows, 18, 450_000, 9.0)


def write_lines(look: PayerLook) -> str:
    """Return the text of a look."""
    return "\n".join(text for text, _ in lines(look))


def test_the_text_says_what_was_found_what_it_cost_and_what_comes_next() -> None:
    """A fault has the worst verdict of its rows, the scene and the fix."""
    text = write_lines(make_look({"PAYER-ONCE-08": Verdict.FAIL, "PAYER-ONCE-06": Verdict.WARN}))
    assert "FAIL  pays again, or loses its proof, after kill -9 (PAYER-ONCE-08, PAYER-ONCE-09)" in text
    assert "WARN  pays again for each new 402 (PAYER-ONCE-06)" in text
    assert "(an answer is lost)" in text
    assert "fix       Pay once." in text
    assert "Of six faults: 1 found, 1 found and left open by the interface, 4 not found." in text
    assert "0.45 simulated USDC left the payer's accounts in 18 scenes" in text
    assert "Every requirement: weldproof run PAYER --lane base -- node 'pay me.mjs'" in text


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ({}, 0),
        ({"PAYER-ONCE-06": Verdict.WARN}, 0),
        ({"PAYER-ONCE-06": Verdict.INCONCLUSIVE}, 3),
        ({"PAYER-ONCE-06": Verdict.INCONCLUSIVE, "PAYER-ONCE-01": Verdict.FAIL}, 1),
        ({"PAYER-ONCE-01": Verdict.FAIL, "PAYER-PAY-02": Verdict.ERROR}, 4),
    ],
)
def test_the_exit_code_is_that_of_the_worst_fault(verdicts: dict[str, Verdict], code: int) -> None:
    """0 says that each of the six was judged and none failed."""
    assert make_look(verdicts).exit_code == code


def test_a_look_that_ran_out_of_time_says_how_to_give_more() -> None:
    """Rows without a verdict are then no fault of the payer."""
    assert "give --seconds 120" in write_lines(replace(make_look({}), is_cut=True))
    assert "--seconds" not in write_lines(make_look({}))


def test_a_fault_that_was_not_judged_says_why() -> None:
    """And counts as not judged."""
    text = write_lines(make_look({"PAYER-OFFER-02": Verdict.INCONCLUSIVE}))
    assert "PAYER-OFFER-02  too slow" in text
    assert "1 not judged" in text
