"""The ready-made target profile of a stack: it claims only what the stack has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tomlkit

WORKING_NAME = "weldproof.toml"
MARK = "# Written by `weldproof up` for the stack it runs.\n"


@dataclass(frozen=True, slots=True)
class StackFacts:
    """What a running stack is: addresses and the files that go with it."""

    rail: str
    algod: str
    indexer: str
    algod_token_file: Path
    payto_algorand: str
    clock_file: Path
    service_word: str

    def as_json(self) -> Mapping[str, str]:
        """Return the facts as JSON members."""
        return {
            "rail": self.rail,
            "algod": self.algod,
            "indexer": self.indexer,
            "control": f"{self.algod}/control",
            "algod_token_file": str(self.algod_token_file),
            "payto_algorand": self.payto_algorand,
            "clock_file": str(self.clock_file),
        }


def profile_text(facts: StackFacts) -> str:
    """Return the text of `weldproof.toml` for a stack."""
    document = tomlkit.document()
    document["version"] = 1
    document["target"] = {"name": "our own stack", "defaults": "reference", "service_word": facts.service_word}
    document["surfaces"] = {"rail": {"url": facts.rail}}
    document["claims"] = {"surfaces": ["rail"], "lanes": ["algorand"], "options": []}
    document["chains"] = {
        "algorand": {
            "network": "algorand_mainnet",
            "algod": facts.algod,
            "indexer": facts.indexer,
            "token": {"file": str(facts.algod_token_file)},
            "control": f"{facts.algod}/control",
        }
    }
    document["clock"] = {"offset_file": str(facts.clock_file)}
    document["pace"] = {"requests_per_second": 0.0, "workers": 8}
    return MARK + tomlkit.dumps(document)
