"""Each payer that the project ships passes every requirement of payers, and claims the specification.

A payer in Python is forked from a process that has imported its libraries (`judged_payer`). The rows about secrets look
at its arguments, so that they are judged once more without a fork.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from localnet.npm import node_modules
from programs.node import node
from tests import prepared

EXAMPLES = Path(__file__).parents[2] / "examples"
WRAPPERS = EXAMPLES / "payers"
PAYERS = [
    *(("weldproof_pay.py", "", lane) for lane in ("algorand", "base", "solana")),
    ("sdk_script.py", "pay_with_algosdk.py", "algorand"),
    ("sdk_script.py", "pay_with_web3py.py", "base"),
    ("sdk_script.py", "pay_with_viem.mjs", "base"),
    ("sdk_script.py", "pay_with_solana_py.py", "solana"),
    ("sdk_script.py", "pay_with_web3js.mjs", "solana"),
]


JUDGING = "tests.outside.judging"
FORKED = [sys.executable, "-m", "tests.outside.judged_payer"]
# What x402 leaves open and these clients do: they keep no payment, and present none again.
OPEN_ROWS = {"PAYER-ONCE-02", "PAYER-ONCE-04", "PAYER-ONCE-08", "PAYER-ONCE-09", "PAYER-ONCE-10"}


@pytest.mark.slow
@pytest.mark.parametrize("client", ["httpx", "requests", "npm"])
def test_a_stock_client_fails_nothing_that_x402_demands(client: str, tmp_path: Path) -> None:
    """Each stock client pays exactly, within its limit, in the right asset; what x402 leaves open warns at most."""
    environment = dict(os.environ)
    if client == "npm":
        (tmp_path / "stock_x402.mjs").write_bytes((WRAPPERS / "stock_x402.mjs").read_bytes())
        (tmp_path / "node_modules").symlink_to(node_modules(WRAPPERS), target_is_directory=True)
        words = [str(node().path), str(tmp_path / "stock_x402.mjs")]
    else:
        words = [*FORKED, str(WRAPPERS / "stock_x402.py"), client]
    run = (JUDGING, "run", "PAYER", "--stock", "--", *words)
    result = prepared.run(*run, env=environment, cwd=tmp_path, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    tests = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))["results"]["tests"]
    verdicts = {test["name"].partition(":")[0]: test["extra"]["verdict"] for test in tests}
    assert {verdicts[row] for row in ("PAYER-PAY-01", "PAYER-PAY-02", "PAYER-OFFER-01", "PAYER-OFFER-02")} == {"pass"}
    assert OPEN_ROWS & {row for row, verdict in verdicts.items() if verdict == "warn"}


def test_every_npm_package_of_the_payers_is_pinned() -> None:
    """It comes from registry.npmjs.org with a hash."""
    lock = json.loads((WRAPPERS / "package-lock.json").read_text("utf-8"))
    for place, entry in lock["packages"].items():
        if place:
            assert entry["resolved"].startswith("https://registry.npmjs.org/"), place
            assert entry["integrity"].startswith("sha512-"), place


@pytest.mark.slow
@pytest.mark.parametrize(("wrapper", "script", "lane"), PAYERS, ids=lambda one: one or "weldproof")
def test_a_payer_that_is_shipped_passes(wrapper: str, script: str, lane: str, tmp_path: Path) -> None:
    """`weldproof pay` on each lane, also for links and over A2A, and the five scripts, each with its unmodified SDK."""
    words = [str(WRAPPERS / wrapper)]
    environment = dict(os.environ)
    if script:
        # A copy, because Node looks for packages beside the script.
        (tmp_path / script).write_bytes((EXAMPLES / script).read_bytes())
        words.append(str(tmp_path / script))
    if script.endswith(".mjs"):
        (tmp_path / "node_modules").symlink_to(node_modules(EXAMPLES), target_is_directory=True)
        environment["NODE"] = str(node().path)
    # The scripts pay for calls over HTTP only.
    options = [] if script else ["payer.checkout", "payer.a2a"]
    claims = f"[claims]\nsurfaces = ['payer']\nlanes = ['{lane}']\noptions = {options}\nspecification = '1'\n"
    for command, row in (([*FORKED, *words], "PAYER"), ([sys.executable, *words], "PAYER-SEC")):
        (tmp_path / "weldproof.toml").write_text(f"{claims}[payer]\ncommand = {command}\n", "utf-8")
        result = prepared.run(JUDGING, "run", row, env=environment, cwd=tmp_path, timeout=900)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "requirements pass" in result.stdout
