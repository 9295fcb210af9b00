"""The suite's own verifier in the bench: a program that does a round for each line it reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.bench.reference import material


@pytest.mark.parametrize("contender", ["verifier", "cryptography"])
def test_a_round_for_each_line(contender: str, tmp_path: Path) -> None:
    """The first line says that it is ready, each later one what a receipt cost."""
    receipt_file = tmp_path / "receipt.json"
    receipt_file.write_text(json.dumps(material.verifier_material("receipt", 0)), "utf-8")
    words = [sys.executable, "-m", "tools.bench.offline", contender, "0.002", str(receipt_file)]
    result = subprocess.run(words, input="\n\n", capture_output=True, text=True, check=True, timeout=600)
    first, *costs = map(json.loads, result.stdout.splitlines())
    assert first == {"ready": True}
    assert len(costs) == 2
    assert min(costs) > 0


def test_what_does_not_verify_is_not_measured(tmp_path: Path) -> None:
    """A receipt that the suite refuses ends the program."""
    receipt_file = tmp_path / "receipt.json"
    receipt_file.write_text(json.dumps({**material.verifier_material("receipt", 0), "jws": "e30.e30.AA"}), "utf-8")
    words = [sys.executable, "-m", "tools.bench.offline", "verifier", "0.002", str(receipt_file)]
    result = subprocess.run(words, input="\n", capture_output=True, text=True, check=False, timeout=600)
    assert (result.stdout, result.returncode) == ("", 1)
