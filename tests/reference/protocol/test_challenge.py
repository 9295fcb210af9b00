"""Challenge tokens by the worked examples of specification 5.4 and by one change at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.challenge import Generation, Mint, Terms, Token, is_live, payment_reference_hash
from reference.protocol.service_word import ServiceWord

SECRET = bytes(range(32))
UNIX = 1_767_225_600
NONCE = bytes.fromhex("0011223344556677")
REQUEST = "sha256:21385cbf54ac22efc2a87002cdd4ee775d387ff38cbdd13f0bfa3381db5265ca"
BASE = Terms(
    "base_mainnet",
    "eip155:8453",
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "10000",
    "0x1111111111111111111111111111111111111111",
)
SOLANA = Terms(
    "solana_mainnet",
    "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
    "10000",
    "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi",
)
BASE_TOKEN = "1767225600:0011223344556677:810b7a167fcae78f8f725677312b195896cc6782690363a2edebdc2642bf33b5"
SOLANA_TOKEN = "1767225600:0011223344556677:a09b8bbc7b366385e78e577f66a953775dce4472ed6f732572ad6ab56172b995"
MINT = Mint(SECRET, ServiceWord())


def parse_token(text: str) -> Token:
    token = Token.parse(text)
    assert token is not None
    return token


def in_force(*terms: Terms) -> list[Generation]:
    return [Generation(one, 0) for one in terms]


@pytest.mark.parametrize(("terms", "expected"), [(BASE, BASE_TOKEN), (SOLANA, SOLANA_TOKEN)])
def test_the_worked_tokens(terms: Terms, expected: str) -> None:
    """Both tokens of 5.4 come out as written."""
    assert expected == MINT.token(terms, service_id="receipt-verify", request_hash=REQUEST, unix=UNIX, nonce=NONCE)


def test_the_worked_reference_hash() -> None:
    """The hash that receipts carry for the worked token comes out as written."""
    expected = "sha256:e91f88ed0b44d87fd2b10811279e1e626a94426c9cba076615d4727981eafa58"
    assert expected == payment_reference_hash(BASE_TOKEN)


def test_half_a_names_the_lane() -> None:
    """A token is known by the terms it was issued for, whatever else is on offer."""
    assert MINT.issued_for(parse_token(BASE_TOKEN), in_force(SOLANA, BASE)) == BASE
    assert MINT.issued_for(parse_token(SOLANA_TOKEN), in_force(BASE, SOLANA)) == SOLANA


@pytest.mark.parametrize("member", ["caip2", "asset", "amount", "pay_to"])
def test_half_a_covers_each_member_of_the_terms(member: str) -> None:
    """With one member of the terms changed the token is of no known terms."""
    assert MINT.issued_for(parse_token(BASE_TOKEN), in_force(replace(BASE, **{member: "9"}))) is None


@pytest.mark.parametrize("changed", ["1767225601:0011223344556677", "1767225600:0011223344556678"])
def test_half_a_covers_time_and_nonce(changed: str) -> None:
    """A token with an edited issue time or nonce is of no known terms."""
    token = parse_token(changed + BASE_TOKEN[27:])
    assert MINT.issued_for(token, in_force(BASE)) is None


def test_half_a_is_keyed() -> None:
    """Another secret, or another service word, does not know the token."""
    for other_mint in (Mint(bytes(32), ServiceWord()), Mint(SECRET, ServiceWord("Other"))):
        assert other_mint.issued_for(parse_token(BASE_TOKEN), in_force(BASE)) is None


def test_half_b_binds_service_and_request() -> None:
    """The token is bound to its own request and service, to no other."""
    token = parse_token(BASE_TOKEN)
    assert MINT.binds(token, service_id="receipt-verify", request_hash=REQUEST)
    assert not MINT.binds(token, service_id="rfc9421-verify", request_hash=REQUEST)
    assert not MINT.binds(token, service_id="receipt-verify", request_hash="sha256:" + "0" * 64)


def test_half_b_is_chained_to_half_a() -> None:
    """The second half of one lane's token does not bind another lane's first half."""
    mixed_token = parse_token(SOLANA_TOKEN[:60] + BASE_TOKEN[60:])
    assert MINT.issued_for(mixed_token, in_force(SOLANA)) == SOLANA
    assert not MINT.binds(mixed_token, service_id="receipt-verify", request_hash=REQUEST)


@given(st.integers(0, len(BASE_TOKEN) - 1), st.characters(codec="ascii"))
def test_no_changed_token_is_ours(place: int, character: str) -> None:
    """Any one changed character leaves a text that is no token, of no known terms, or bound to no request."""
    changed_token = BASE_TOKEN[:place] + character + BASE_TOKEN[place + 1 :]
    token = Token.parse(changed_token)
    if changed_token != BASE_TOKEN and token is not None:
        known_terms = MINT.issued_for(token, in_force(BASE))
        assert known_terms is None or not MINT.binds(token, service_id="receipt-verify", request_hash=REQUEST)


@pytest.mark.parametrize(
    "text",
    [
        "",
        BASE_TOKEN + "\n",
        " " + BASE_TOKEN,
        BASE_TOKEN.upper(),
        "0" + BASE_TOKEN,
        BASE_TOKEN[1:],
        BASE_TOKEN[:-1],
        BASE_TOKEN + "0",
        BASE_TOKEN.replace(":", ";"),
        BASE_TOKEN.replace("1767225600", "17672256000000"),
        BASE_TOKEN.replace("1767225600", "١٧٦٧٢٢٥٦٠٠"),
    ],
)
def test_another_form_is_no_token(text: str) -> None:
    """The syntax of 5.4 is the whole text: nothing before, after, or in another script."""
    assert Token.parse(text) is None


@pytest.mark.parametrize(
    ("now", "expected"),
    [(UNIX - 60, True), (UNIX - 61, False), (UNIX, True), (UNIX + 1800, True), (UNIX + 1801, False)],
)
def test_a_token_lives_for_its_ttl(now: int, expected: bool) -> None:
    """Both ends of the lifetime: at most 60 s from the future, up to and including unix + TTL."""
    assert expected is is_live(parse_token(BASE_TOKEN), now=now, ttl=1800)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(UNIX + 360, None, True), (UNIX + 361, None, False), (0, UNIX - 360, True), (0, UNIX - 361, False)],
)
def test_terms_count_while_in_force(since: int, until: int | None, expected: bool) -> None:
    """A token is checked against the terms that were in force when it was issued (P-CH-13)."""
    known_terms = MINT.issued_for(parse_token(BASE_TOKEN), [Generation(BASE, since, until)])
    assert expected is (known_terms is not None)
