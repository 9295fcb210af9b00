"""The suite's own contracts are what their sources compile to."""

from __future__ import annotations

from pathlib import Path

from tests.npm_solc import rebuilt

CONTRACTS = Path(__file__).parents[3] / "conformance" / "lanes" / "base" / "contracts"


def test_artefacts_are_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    """The pinned compiler makes every committed artefact from its committed source, and no artefact lacks one."""
    rebuilt(CONTRACTS, tmp_path)
    committed_files = {path.name: path.read_bytes() for path in CONTRACTS.glob("*.json")}
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json")} == committed_files
    assert {Path(name).stem for name in committed_files} == {"Batcher", "ContractWallet", "CopycatToken"}
