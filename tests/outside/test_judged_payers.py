"""Each payer that the project ships passes every requirement of payers, and claims the specification."""

from __future__ import annotations

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


@pytest.mark.slow
@pytest.mark.parametrize(("wrapper", "script", "lane"), PAYERS, ids=lambda one: one or "weldproof")
def test_a_payer_that_is_shipped_passes(wrapper: str, script: str, lane: str, tmp_path: Path) -> None:
    """`weldproof pay` on each lane, and the five scripts, each with its unmodified SDK."""
    words = [sys.executable, str(WRAPPERS / wrapper)]
    environment = dict(os.environ)
    if script:
        # A copy, because Node looks for packages beside the script.
        (tmp_path / script).write_bytes((EXAMPLES / script).read_bytes())
        words.append(str(tmp_path / script))
    if script.endswith(".mjs"):
        (tmp_path / "node_modules").symlink_to(node_modules(EXAMPLES), target_is_directory=True)
        environment["NODE"] = str(node().path)
    profile = f"[claims]\nsurfaces = ['payer']\nlanes = ['{lane}']\nspecification = '1'\n[payer]\ncommand = {words}\n"
    (tmp_path / "weldproof.toml").write_text(profile, "utf-8")
    result = prepared.run("conformance", "run", "PAYER", env=environment, cwd=tmp_path, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "requirements pass" in result.stdout
