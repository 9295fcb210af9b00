"""The ready-made target profile of a stack: it claims only what the stack has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
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
    base: str
    base_sepolia: str
    solana: str
    solana_ws: str
    algod_token_file: Path
    settler_key_file: Path
    payto_algorand: str
    payto_base: str
    payto_solana: str
    clock_file: Path
    lanes: tuple[str, ...]
    service_word: str

    @property
    def controls(self) -> tuple[str, ...]:
        """Control addresses of the chains."""
        by_lane = {
            "algorand": (self.algod,),
            "base": (self.base, self.base_sepolia),
            "solana": (self.solana,),
        }
        return tuple(f"{url}/control" for lane in self.lanes for url in by_lane[lane])

    def as_json(self) -> Mapping[str, str]:
        """Return the facts as JSON members."""
        names = [one.name for one in fields(self) if one.name not in {"service_word", "settler_key_file", "lanes"}]
        told = {name: str(getattr(self, name)) for name in names}
        return {**told, "lanes": ",".join(self.lanes), "control": f"{self.algod}/control"}


def profile_text(facts: StackFacts) -> str:
    """Return the text of `weldproof.toml` for a stack."""
    document = tomlkit.document()
    document["version"] = 1
    document["target"] = {"name": "our own stack", "defaults": "reference", "service_word": facts.service_word}
    document["surfaces"] = {"rail": {"url": facts.rail}}
    document["claims"] = {"surfaces": ["rail"], "lanes": list(facts.lanes), "options": []}
    tables = {
        "algorand": {
            "network": "algorand_mainnet",
            "algod": facts.algod,
            "indexer": facts.indexer,
            "token": {"file": str(facts.algod_token_file)},
            "control": f"{facts.algod}/control",
        },
        "base": {"network": "base_mainnet", "rpc": facts.base, "control": f"{facts.base}/control"},
        "solana": {
            "network": "solana_mainnet",
            "rpc": facts.solana,
            "ws": facts.solana_ws,
            "control": f"{facts.solana}/control",
        },
    }
    document["chains"] = {lane: tables[lane] for lane in facts.lanes}
    document["clock"] = {"offset_file": str(facts.clock_file)}
    document["pace"] = {"requests_per_second": 0.0, "workers": 8}
    return MARK + tomlkit.dumps(document)
