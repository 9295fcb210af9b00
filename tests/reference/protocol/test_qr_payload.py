"""QR payloads with the example values of the profile (3.5)."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest

from reference.protocol.link_payment import LinkTerms
from reference.protocol.networks import NETWORKS
from reference.protocol.qr_payload import ShownLink, qr_payload
from reference.protocol.service_word import ServiceWord
from reference.protocol.transfer_purpose import checkout_reference

TOKEN = "AAECAwQFBgcICQoLDA0ODw"
WORD = ServiceWord()
PAGE = f"http://localhost:8090/checkout/{TOKEN}"


def show_link(network: str, pay_to: str, amount: int = 8_410_000, label: str = "Order 7") -> ShownLink:
    terms = LinkTerms(NETWORKS[network], pay_to, amount, WORD.memo(TOKEN), 2_000)
    return ShownLink(terms, TOKEN, label, PAGE, WORD)


EXPECTED_PAYLOADS = {
    "algorand_testnet": "algorand://ADDR?amount=8410000&asset=10458941&xnote=weldproof%3AAAECAwQFBgcICQoLDA0ODw",
    "solana_devnet": (
        "solana:ADDR?amount=8.41&spl-token=4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"
        "&reference=2X2KYJbwePp23gnZ6uXexTQfg8cJGJSXmmvjDBjjUGWN&label=Order%207"
        "&memo=weldproof%3AAAECAwQFBgcICQoLDA0ODw"
    ),
    "base_sepolia": (
        f"{PAGE}#ethereum:0x036CbD53842c5426634e7929541eC2318f3dCF7e@84532/transfer?address=ADDR&uint256=8410000"
    ),
    "tempo_mainnet": (
        "ethereum:0x20c000000000000000000000b9537d11c60e8b50@4217/transferWithMemo?address=ADDR&uint256=8410000"
        "&bytes32=0x57887b9466581c1b94799bb3f12ab0d691a4c2e51bf94517a9042489ca6033fe"
    ),
    "stellar_testnet": (
        "web+stellar:pay?destination=ADDR&amount=8.41&asset_code=USDC"
        "&asset_issuer=GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"
        "&memo=ZYXFry0J2sLF16BxUkVRpltgsWXA1tCvkR2%2FnW5DvfY%3D&memo_type=MEMO_HASH"
    ),
    "voi_mainnet": f"{PAGE}#ADDR",
    "hedera_testnet": f"{PAGE}#ADDR",
}


@pytest.mark.parametrize("network", EXPECTED_PAYLOADS)
def test_each_chain_has_its_own_payload(network: str) -> None:
    """A code says what wallets of its chain read, and for Base the page's address first."""
    assert qr_payload(show_link(network, "ADDR")) == EXPECTED_PAYLOADS[network]


def test_every_network_of_the_table_has_a_payload() -> None:
    """No network is without a code, and each names where the money goes."""
    for network in NETWORKS:
        assert "ADDR" in qr_payload(show_link(network, "ADDR"))


@pytest.mark.parametrize("network", ["algorand_testnet", "solana_devnet", "base_sepolia"])
def test_a_further_chain_of_a_family_has_its_familys_payload(network: str) -> None:
    """What wallets of a family read does not hang on what its chain is called."""
    link = show_link(network, "ADDR")
    further = replace(link.terms.network, key="further_testnet")
    assert qr_payload(replace(link, terms=replace(link.terms, network=further))) == EXPECTED_PAYLOADS[network]


def test_the_solana_reference_is_derived_from_word_and_token() -> None:
    """The reference account is the SHA-256 of word and token."""
    assert checkout_reference(WORD.lower, TOKEN) == "2X2KYJbwePp23gnZ6uXexTQfg8cJGJSXmmvjDBjjUGWN"
    assert checkout_reference("other", TOKEN) != checkout_reference(WORD.lower, TOKEN)


@pytest.mark.parametrize(
    ("microunits", "text"),
    [(1, "0.000001"), (1_000_000, "1"), (10_000_000, "10"), (10**15, "1000000000"), (1_500_000, "1.5")],
)
def test_amounts_are_plain_decimals(microunits: int, text: str) -> None:
    """A decimal amount has no exponent and no idle zeros."""
    assert f"?amount={text}&" in qr_payload(show_link("solana_mainnet", "ADDR", microunits))


def test_a_stellar_amount_keeps_its_value_with_seven_decimals() -> None:
    """Stellar's seventh decimal changes nothing of a decimal amount, and multiplies atomic units by ten."""
    link = show_link("stellar_mainnet", "ADDR", 1)
    assert "&amount=0.000001&" in qr_payload(link)
    assert link.terms.atomic == 10


@pytest.mark.parametrize("label", ["a&b=c?#/%", "Bestellung Nr. 7 für Zoë", "x" * 255])
def test_labels_are_percent_encoded_whole(label: str) -> None:
    """Whatever a label says, it stays one value."""
    assert f"&label={quote(label, safe='')}&memo=" in qr_payload(show_link("solana_devnet", "ADDR", label=label))


def test_a_label_too_long_for_a_code_is_cut_between_characters() -> None:
    """A code stays readable, whatever the label."""
    payload = qr_payload(show_link("solana_devnet", "ADDR", label="🧾" * 255))
    assert len(payload) < 900
    assert f"&label={quote('🧾' * 50, safe='')}&memo=" in payload
