"""The payloads of QR codes are those of the specification (3.5), and each difference is a fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.oracles.checkout_payloads import ShownLink, find_payload_fault

TOKEN = "AAECAwQFBgcICQoLDA0ODw"
LINK = ShownLink(
    family="algorand",
    url=f"http://gateway.test/checkout/{TOKEN}",
    token=TOKEN,
    label="A+b 5% é",
    microunits=1_250_000,
    address="ADDRESS",
    asset="10458941",
    chain_id=None,
    service="weldproof",
)
ALGORAND = f"algorand://ADDRESS?amount=1250000&asset=10458941&xnote=weldproof%3A{TOKEN}"
SOLANA_LINK = replace(LINK, family="solana", asset="MINT")
REFERENCE = "2X2KYJbwePp23gnZ6uXexTQfg8cJGJSXmmvjDBjjUGWN"
SOLANA = (
    f"solana:ADDRESS?amount=1.25&spl-token=MINT&reference={REFERENCE}"
    f"&label=A%2Bb%205%25%20%C3%A9&memo=weldproof%3A{TOKEN}"
)
BASE_LINK = replace(LINK, family="base", address="0xAb", asset="0xCd", chain_id="84532")
BASE = f"{LINK.url}#ethereum:0xCd@84532/transfer?address=0xAb&uint256=1250000"


@pytest.mark.parametrize(
    ("link", "payload"),
    [
        (LINK, ALGORAND),
        (LINK, ALGORAND.replace("%3A", "%3a")),
        (SOLANA_LINK, SOLANA),
        (replace(SOLANA_LINK, label=f"A+b 5% é{'x' * 300}"), SOLANA.replace("&memo", f"{'x' * 100}&memo")),
        (BASE_LINK, BASE),
        (BASE_LINK, BASE.replace("0xAb", "0xab")),
        (replace(BASE_LINK, chain_id=None), BASE.replace("84532", "1337")),
    ],
)
def test_the_payload_of_the_specification_has_no_fault(link: ShownLink, payload: str) -> None:
    """Escapes and hexadecimal addresses may be in either case, and a long label may be cut."""
    assert find_payload_fault(payload, link) is None


@pytest.mark.parametrize(
    ("link", "payload"),
    [
        (LINK, ALGORAND.replace("%3A", ":")),
        (LINK, ALGORAND.replace("1250000", "125000")),
        (LINK, ALGORAND.partition("&xnote")[0]),
        (SOLANA_LINK, SOLANA.replace("%20", "+")),
        (SOLANA_LINK, SOLANA.replace("%2B", "%20")),
        (SOLANA_LINK, SOLANA.replace("A%2Bb%205%25%20%C3%A9", "A")),
        (SOLANA_LINK, SOLANA.replace("1.25", "1.250000")),
        (SOLANA_LINK, SOLANA.replace(REFERENCE, "ADDRESS")),
        (SOLANA_LINK, SOLANA.partition("&memo")[0]),
        (BASE_LINK, BASE.partition("#")[2]),
        (BASE_LINK, BASE.replace("84532", "8453")),
        (BASE_LINK, BASE.replace(TOKEN, TOKEN.lower())),
    ],
)
def test_each_difference_is_a_fault(link: ShownLink, payload: str) -> None:
    """Another amount, an absent memo, other escapes, another chain, and a code that pays without its page."""
    assert find_payload_fault(payload, link) is not None
