"""The network table and what is canonical on each network."""

from __future__ import annotations

import json
from pathlib import Path

import base58
import pytest

from reference.protocol import networks
from reference.protocol.networks import NETWORKS, canonical_tx_id, network_of, same_address

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
    """_testnet, _devnet and _sepolia are test networks, all others main (P-NW-02)."""
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
        for other in (text + " ", "1" + text, text[:-2], "", "0" * 88, "é" * 88, text * 1000):
            with pytest.raises(ValueError, match=r"Solana|base58"):
                canonical_tx_id(SOLANA, other)


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
