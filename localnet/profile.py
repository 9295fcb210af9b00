"""The ready-made target profile of a stack: it claims only what the stack has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import tomlkit

from localnet.chains import told

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
    kinds: Mapping[str, str]
    control: Mapping[str, str]
    service_word: str

    @property
    def controls(self) -> tuple[str, ...]:
        """Control addresses of the chains that run."""
        names = {"algorand": ("algorand",), "base": ("base", "base_sepolia"), "solana": ("solana",)}
        return tuple(self.control[name] for lane in self.lanes for name in names[lane])

    def as_json(self) -> Mapping[str, str]:
        """Return the facts as JSON members."""
        hidden = {"service_word", "settler_key_file", "lanes", "kinds", "control"}
        members = {one.name: str(getattr(self, one.name)) for one in fields(self) if one.name not in hidden}
        chains = ",".join(f"{lane}={self.kinds[lane]}" for lane in self.lanes)
        controls = {f"control_{name}": url for name, url in self.control.items()}
        return {**members, "lanes": ",".join(self.lanes), "chains": chains, "control": self.controls[0], **controls}


def _name(facts: StackFacts) -> str:
    """Return the target's name; where lanes differ it says which are simulated, so that every report does."""
    mixture = told(facts.kinds, facts.lanes)
    real = any(facts.kinds[lane] == "localnet" for lane in facts.lanes)
    return f"our own stack ({mixture or 'on real nodes'})" if real else "our own stack"


def profile_text(facts: StackFacts) -> str:
    """Return the text of `weldproof.toml` for a stack."""
    document = tomlkit.document()
    document["version"] = 1
    document["target"] = {"name": _name(facts), "defaults": "reference", "service_word": facts.service_word}
    document["surfaces"] = {"rail": {"url": facts.rail}}
    document["claims"] = {"surfaces": ["rail"], "lanes": list(facts.lanes), "options": []}
    tables = {
        "algorand": {
            "network": "algorand_mainnet",
            "algod": facts.algod,
            "indexer": facts.indexer,
            "token": {"file": str(facts.algod_token_file)},
            "control": facts.control.get("algorand"),
        },
        "base": {"network": "base_mainnet", "rpc": facts.base, "control": facts.control.get("base")},
        "solana": {
            "network": "solana_mainnet",
            "rpc": facts.solana,
            "ws": facts.solana_ws,
            "control": facts.control.get("solana"),
        },
    }
    document["chains"] = {lane: tables[lane] for lane in facts.lanes}
    document["clock"] = {"offset_file": str(facts.clock_file)}
    document["pace"] = {"requests_per_second": 0.0, "workers": 8}
    return MARK + tomlkit.dumps(document)
