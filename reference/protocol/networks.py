"""The network table: four spellings of each network, and canonical ids and addresses (1.2, P-NW-01 to P-NW-05)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

import base58

Family = Literal["algorand", "evm", "solana", "other"]

# 52 base32 characters hold 260 bits and an id has 256: the last character carries four spare bits, zero here.
_ALGORAND_TX = re.compile(r"[A-Z2-7]{51}[AQ]")
_EVM_TX = re.compile(r"0x[0-9a-fA-F]{64}")
_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SOLANA_SIGNATURE_BYTES = 64
_LOCAL_KEY = re.compile(r"[a-z]+_localnet")
_TEST_ENDINGS = ("_testnet", "_devnet", "_sepolia", "_localnet")


@dataclass(frozen=True, slots=True)
class Network:
    """One row of the table.

    Attributes:
        key: Request form, with underscores.
        event: Webhook form, with a colon.
        caip2: x402 form (CAIP-2 on the rail's lanes).
        asset_id: USDC on this network, as text.
        decimals: Decimals of that asset.
        family: Which rules its ids follow.
        asset_label: What people call the asset.
        eip712_name: Name in the asset's EIP-712 domain (P-NW-03); empty where it has none.
        eip712_version: Version in it.
    """

    key: str
    event: str
    caip2: str
    asset_id: str
    decimals: int
    family: Family
    asset_label: str = "USDC"
    eip712_name: str = ""
    eip712_version: str = ""

    @property
    def label(self) -> str:
        """Link form: the key with hyphens."""
        return self.key.replace("_", "-")

    @property
    def is_test(self) -> bool:
        """Whether it is a test network (P-NW-02)."""
        return self.key.endswith(_TEST_ENDINGS)

    @property
    def spellings(self) -> tuple[str, str, str, str]:
        """Its key, label, event form and CAIP-2 form."""
        return self.key, self.label, self.event, self.caip2


_FILES = (file for file in files(f"{__package__}.network_rows").iterdir() if file.name.endswith(".json"))
_PUBLIC: Mapping[str, Network] = {
    row["key"]: Network(**row)
    for file in sorted(_FILES, key=lambda file: file.name)
    for row in json.loads(file.read_text("utf-8"))
}
# Mutable on purpose: other modules hold `NETWORKS` and must see the local networks that are added at the start.
_table = dict(_PUBLIC)
# The public networks, and the local ones that the settings of this process added.
NETWORKS: Mapping[str, Network] = _table
# The example in documents, and the network of a resource that names none.
EXAMPLE = next(iter(NETWORKS))


def _index_by_spelling(networks: Iterable[Network]) -> dict[str, Network]:
    return {spelling: network for network in networks for spelling in network.spellings}


# One index of all four spellings. The columns map one-to-one (P-NW-01), so no spelling is ambiguous.
_by_spelling = _index_by_spelling(_table.values())


def add_local_networks(path: Path) -> None:
    """Add the local networks that a file lists, instead of those that an earlier call added (P-NW-02).

    The file is a JSON list of objects with the attributes of `Network`.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is malformed, a key does not end in `_localnet`, or a spelling is another network's.
    """
    # A private network has an asset id, a genesis id and a genesis hash that no table can contain before it exists.
    rows = json.loads(path.read_text("utf-8"))
    try:
        local_networks = [Network(**row) for row in rows] if isinstance(rows, list) else None
    except TypeError as fault:
        raise ValueError(f"{path} is not a list of networks: {fault}") from fault
    if local_networks is None:
        raise ValueError(f"{path} is not a list of networks")
    by_spelling = _index_by_spelling(_PUBLIC.values())
    for network in local_networks:
        if _LOCAL_KEY.fullmatch(network.key) is None:
            raise ValueError(f"{path}: {network.key!r} is not the key of a local network, such as algorand_localnet")
        # A local network under a public name would let test money count as real money.
        taken_spelling = next((one for one in network.spellings if one in by_spelling), None)
        if taken_spelling is not None:
            raise ValueError(f"{path}: {taken_spelling} is another network")
        by_spelling |= _index_by_spelling([network])
    _table.clear()
    _table.update({**_PUBLIC, **{network.key: network for network in local_networks}})
    _by_spelling.clear()
    _by_spelling.update(by_spelling)


def network_of(text: str) -> Network | None:
    """Return the network that any of its four spellings names, or None."""
    return _by_spelling.get(text)


def canonical_tx_id(network: Network, text: str) -> str:
    """Return the one form in which a transaction id is keyed, stored and hashed (P-NW-04).

    EVM ids are lower-cased; an Algorand or Solana id must be in its canonical spelling already.

    Raises:
        ValueError: `text` is not a canonical transaction id of this network.
    """
    # A payment key is made of this text (P-ST-03). If two spellings of one id passed, one payment could buy two
    # calls.
    if network.family == "algorand":
        if _ALGORAND_TX.fullmatch(text) is None:
            raise ValueError("not a canonical Algorand transaction id")
        return text
    # EVM ids are hex, whose case carries no information. base32 and base58 ids must be in their one spelling
    # already.
    if network.family == "evm":
        if _EVM_TX.fullmatch(text) is None:
            raise ValueError("not an EVM transaction hash")
        return text.lower()
    if network.family == "solana":
        return _solana_signature(text)
    return text


def _solana_signature(text: str) -> str:
    try:
        raw = base58.b58decode(text) if text.isascii() and len(text) <= 90 else b""
    except ValueError as fault:
        raise ValueError("not base58") from fault
    if len(raw) != _SOLANA_SIGNATURE_BYTES or base58.b58encode(raw).decode() != text:
        raise ValueError("not a canonical Solana signature")
    return text


def canonical_address(network: Network, text: str) -> str:
    """Return the form in which an address is compared and hashed: EVM in lower case, others as given (P-NW-04).

    A text that is no EVM address has no letters that are only a checksum, so it stays as it is, on EVM networks too.
    """
    return text.lower() if network.family == "evm" and _EVM_ADDRESS.fullmatch(text) else text


def same_address(network: Network, first: str, second: str) -> bool:
    """Return whether two texts name the same account: EVM by bytes, elsewhere exactly (P-NW-04)."""
    return canonical_address(network, first) == canonical_address(network, second)
