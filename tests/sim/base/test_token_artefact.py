"""The committed token artefact is what its source compiles to."""

from __future__ import annotations

import json
from pathlib import Path

from tests.npm_solc import rebuilt

CONTRACTS = Path(__file__).parents[3] / "sim" / "base" / "contracts"


def test_artefact_is_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    """The pinned compiler makes the committed artefact from the committed source."""
    rebuilt(CONTRACTS, tmp_path)
    assert (tmp_path / "FiatToken.json").read_bytes() == (CONTRACTS / "FiatToken.json").read_bytes()


def test_one_changed_character_shows(tmp_path: Path) -> None:
    """The comparison can fail: another refusal text gives another artefact."""
    source = (CONTRACTS / "FiatToken.sol").read_text()
    (tmp_path / "FiatToken.sol").write_text(source.replace("authorization is expired", "authorization is Expired"))
    rebuilt(tmp_path, tmp_path)
    assert (tmp_path / "FiatToken.json").read_bytes() != (CONTRACTS / "FiatToken.json").read_bytes()


def test_code_can_be_planted_anywhere() -> None:
    """Neither links nor immutables nor metadata: the runtime code is one literal."""
    artefact = json.loads((CONTRACTS / "FiatToken.json").read_text())
    code = artefact["deployedBytecode"]
    assert bytes.fromhex(code[2:])
    assert artefact["bytecode"].endswith(code[2:])
