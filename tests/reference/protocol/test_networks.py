"""The network table and what is canonical on each network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import base58
import pytest

from reference.protocol import networks
from reference.protocol.networks import NETWORKS, add_local_networks, canonical_tx_id, network_of, same_address

ALGORAND = NETWORKS["algorand_mainnet"]
BASE = NETWORKS["base_mainnet"]
SOLANA = NETWORKS["solana_mainnet"]
STELLAR = NETWORKS["stellar_mainnet"]


# The networks of specification 1.2; a further lane brings its own.
ROWS = Path(networks.__file__).with_name("network_rows")
MAIN = {f"{chain}_mainnet" for chain in ("algorand", "voi", "hedera", "stellar", "base", "solana", "tempo")}
TEST = {
    "algorand_testnet",
    "base_sepolia",
    "solana_devnet",
    "hedera_testnet",
    "stellar_testnet",
    "tempo_testnet",
}


def test_the_table_has_each_network_once() -> None:
    """Every network of specification 1.2 is there (P-NW-02), and no file has one that another has."""
    assert set(NETWORKS) >= MAIN | TEST
    rows = [row for file in ROWS.glob("*.json") for row in json.loads(file.read_bytes())]
    assert sorted(row["key"] for row in rows) == sorted(NETWORKS)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=list(NETWORKS))
def test_every_spelling_names_its_network(network: object) -> None:
    """Key, label, event form and CAIP-2 name map back to one network each (P-NW-01)."""
    assert isinstance(network, type(ALGORAND))
    for spelling in (network.key, network.label, network.event, network.caip2):
        assert network is network_of(spelling)
    assert network.key.replace("_", "-") == network.label


@pytest.mark.parametrize("text", ["", "algorand", "ALGORAND_MAINNET", "base_mainnet ", "algo_mainnet", "eip155:1"])
def test_any_other_spelling_names_none(text: str) -> None:
    """What is not in the table is no network."""
    assert network_of(text) is None


def test_the_lanes_have_the_assets_of_the_interface() -> None:
    """Asset ids and decimals are those of specification 1.2."""
    assert (
        ALGORAND.asset_id,
        ALGORAND.decimals,
        ALGORAND.family,
        ALGORAND.is_test,
    ) == ("31566704", 6, "algorand", False)
    assert BASE.asset_id == "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    assert SOLANA.asset_id == "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
    assert NETWORKS["stellar_testnet"].decimals == 7
    assert NETWORKS["voi_mainnet"].asset_label == "aUSDC"


def test_test_networks_are_told_by_their_key() -> None:
    """_testnet, _devnet, _sepolia and _localnet are test networks, all others main (P-NW-02)."""
    assert {key for key in MAIN | TEST if NETWORKS[key].is_test} == TEST


def test_an_evm_transaction_id_is_lower_case() -> None:
    """An EVM id is 0x and 64 hex digits, lower-cased."""
    assert canonical_tx_id(BASE, "0x" + "Ab" * 32) == "0x" + "ab" * 32


@pytest.mark.parametrize(
    "text", ["", "ab" * 32, "0X" + "ab" * 32, "0x" + "ab" * 31, "0x" + "ab" * 32 + "\n", "0x" + "g" * 64]
)
def test_another_form_of_an_evm_id_is_refused(text: str) -> None:
    """Nothing else is an EVM transaction id."""
    with pytest.raises(ValueError, match="EVM"):
        canonical_tx_id(BASE, text)


def test_an_algorand_id_has_one_spelling() -> None:
    """The last of 52 characters carries four spare bits, so only A and Q may stand there (P-NW-04)."""
    assert canonical_tx_id(ALGORAND, "B" * 51 + "A") == "B" * 51 + "A"
    assert canonical_tx_id(ALGORAND, "B" * 51 + "Q") == "B" * 51 + "Q"
    for text in ("B" * 52, "b" * 51 + "a", "B" * 51 + "A=", "B" * 51 + "A\n", "B" * 50 + "A", "1" * 51 + "A", ""):
        with pytest.raises(ValueError, match="Algorand"):
            canonical_tx_id(ALGORAND, text)


def test_a_solana_id_has_one_spelling() -> None:
    """A Solana id is the base58 of 64 bytes as it is written back."""
    for raw in (bytes(range(64)), bytes(64), b"\xff" * 64):
        text = base58.b58encode(raw).decode()
        assert text == canonical_tx_id(SOLANA, text)
        for other_text in (text + " ", "1" + text, text[:-2], "", "0" * 88, "é" * 88, text * 1000):
            with pytest.raises(ValueError, match=r"Solana|base58"):
                canonical_tx_id(SOLANA, other_text)


def test_ids_of_other_chains_stay_as_given() -> None:
    """Chains without a rule keep the text."""
    assert canonical_tx_id(STELLAR, "AbC") == "AbC"


def test_addresses_are_compared_by_bytes_on_evm_only() -> None:
    """Case does not matter on EVM and matters everywhere else (P-NW-04)."""
    assert same_address(BASE, BASE.asset_id, BASE.asset_id.lower())
    assert not same_address(BASE, "0x" + "a" * 40, "0x" + "b" * 40)
    for network in (ALGORAND, SOLANA, STELLAR, NETWORKS["hedera_mainnet"], NETWORKS["voi_mainnet"]):
        assert same_address(network, "ABC", "ABC")
        assert not same_address(network, "ABC", "abc")


LOCAL: dict[str, Any] = {
    "key": "algorand_localnet",
    "event": "algorand:weldproof-v1",
    "caip2": "algorand:0123456789abcdefghijklmnopqrstuv",
    "asset_id": "1001",
    "decimals": 6,
    "family": "algorand",
}


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Path]:
    """A file of local networks; none is known after the test."""
    path = tmp_path / "local_networks.json"
    yield path
    path.write_text("[]")
    add_local_networks(path)
    assert "algorand_localnet" not in NETWORKS


def write(path: Path, *changes: dict[str, Any]) -> Path:
    """Write one row for each set of changes to `LOCAL`."""
    path.write_text(json.dumps([{**LOCAL, **one} for one in changes]))
    return path


def test_a_local_network_is_a_test_network_with_four_spellings(rows: Path) -> None:
    """A file lists networks that no table can know, and each is known by its four spellings (P-NW-02)."""
    add_local_networks(write(rows, {}))
    network = NETWORKS["algorand_localnet"]
    assert (network.asset_id, network.family, network.is_test) == ("1001", "algorand", True)
    for spelling in ("algorand_localnet", "algorand-localnet", LOCAL["event"], LOCAL["caip2"]):
        assert network is network_of(spelling)


def test_a_later_file_takes_the_place_of_an_earlier_one(rows: Path) -> None:
    """A network that was made again has another genesis, and its old spellings name nothing."""
    add_local_networks(write(rows, {}))
    add_local_networks(write(rows, {"caip2": "algorand:another", "asset_id": "2002"}))
    assert NETWORKS["algorand_localnet"].asset_id == "2002"
    assert network_of(LOCAL["caip2"]) is None
    assert ALGORAND is network_of(ALGORAND.caip2)


@pytest.mark.parametrize(
    "changed",
    [
        {"key": "algorand_mainnet"},
        {"key": "algorand_private"},
        {"key": "_localnet"},
        {"key": "algorand_localnet\n"},
        {"event": ALGORAND.event},
        {"caip2": ALGORAND.caip2},
        {"event": "base-mainnet"},
        {"genesis": "unknown member"},
    ],
    ids=str,
)
def test_a_row_that_is_not_a_local_networks_is_refused(rows: Path, changed: dict[str, Any]) -> None:
    """No row takes the key or a spelling of another network, and a refused file changes nothing (P-NW-02)."""
    add_local_networks(write(rows, {"key": "base_localnet", "caip2": "eip155:1", "event": "eip155:1"}))
    with pytest.raises(ValueError, match=r"local_networks\.json"):
        add_local_networks(write(rows, changed))
    assert ("base_localnet" in NETWORKS, network_of("eip155:1") is None) == (True, False)


@pytest.mark.parametrize("text", ["", "{", '"algorand_localnet"', "[1]", "{}", '[{"key": "algorand_localnet"}]'])
def test_a_file_that_does_not_list_networks_is_refused(rows: Path, text: str) -> None:
    """Anything but a JSON list of rows is refused."""
    rows.write_text(text)
    with pytest.raises(ValueError):  # noqa: PT011 - the JSON reader's words are its own
        add_local_networks(rows)


def test_two_rows_of_one_network_are_refused(rows: Path) -> None:
    """Two rows with one spelling would make one of them unreachable."""
    with pytest.raises(ValueError, match="is another network"):
        add_local_networks(write(rows, {}, {"key": "base_localnet"}))
