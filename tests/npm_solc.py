"""The pinned Solidity compiler, for the tests that rebuild an artefact from its source."""

from __future__ import annotations

import subprocess
from pathlib import Path

from localnet.npm import node_modules
from programs.node import node

_CONTRACTS = Path(__file__).parents[1] / "sim" / "base" / "contracts"


def rebuilt(sources: Path, output: Path) -> None:
    """Compile every contract of `sources` into `output`."""
    compiler = node_modules(_CONTRACTS)
    command = [str(node().path), str(_CONTRACTS / "compile.mjs"), str(sources), str(output), str(compiler)]
    subprocess.run(command, check=True, timeout=600)
