"""Importing the SDKs changes nothing for the rest of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["conformance.lanes.base.payer", "conformance.checks.rail", "reference.lanes.base.account"]
)
def test_deep_json_raises_and_does_not_end_the_process(module: str) -> None:
    """With every SDK loaded, JSON nested a hundred thousand deep raises RecursionError as ever."""
    code = f"import {module}, json\ntry:\n    json.loads('[' * 100000)\nexcept RecursionError:\n    print('caught')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600)
    assert (ran.returncode, ran.stdout) == (0, "caught\n")
