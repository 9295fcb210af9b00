"""Base's weld: what is judged before any money moves, and what logs must show (5.5, P-LN-10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account
from eth_utils.address import to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.protocol import eip3009
from reference.protocol.challenge import Terms
from reference.protocol.eip3009 import Authorization, AuthorizationOffer, Domain
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import AuthorizationUsed, ObservedTransaction, Transfer, TxStatus
from reference.protocol.refusals import CODES_402, PaymentRefused

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
DOMAIN = Domain("USD Coin", "2", 8453, USDC)
PAYEE = "0x" + "ab" * 20
TOKEN = "1767225600:0011223344556677:" + "ab" * 32
TERMS = Terms("base_mainnet", "eip155:8453", USDC, "10000", to_checksum_address(PAYEE))
NOW = 1_767_225_600
KEY = bytes(range(32))
TYPES = {
    "TransferWithAuthorization": [
        {"name": "from", "type": "address"},
        {"name": "to", "type": "address"},
        {"name": "value", "type": "uint256"},
        {"name": "validAfter", "type": "uint256"},
        {"name": "validBefore", "type": "uint256"},
        {"name": "nonce", "type": "bytes32"},
    ]
}


def sign_authorization(key: bytes = KEY, domain: Domain = DOMAIN, **changes: Any) -> Authorization:
    """Return an authorization as eth-account signs it."""
    payer = Account.from_key(key).address.lower()
    authorization = Authorization(payer, PAYEE, 10_000, 0, NOW + 600, eip3009.nonce_of(TOKEN), "")
    authorization = replace(authorization, **changes)
    typed_message = {
        "name": domain.name,
        "version": domain.version,
        "chainId": domain.chain_id,
        "verifyingContract": domain.contract,
    }
    message = {
        "from": to_checksum_address(authorization.payer),
        "to": to_checksum_address(authorization.to),
        "value": authorization.value,
        "validAfter": authorization.valid_after,
        "validBefore": authorization.valid_before,
        "nonce": bytes.fromhex(authorization.nonce[2:]),
    }
    signature = Account.sign_typed_data(key, typed_message, TYPES, message).signature
    return replace(authorization, signature="0x" + bytes(signature).hex())


def build_offer(authorization: Authorization, **changes: Any) -> AuthorizationOffer:
    return replace(AuthorizationOffer(authorization, TERMS, TOKEN, DOMAIN, NOW), **changes)


def refusal_of(authorization: Authorization, **changes: Any) -> str:
    with pytest.raises(PaymentRefused) as error_info:
        eip3009.judge_offline(build_offer(authorization, **changes))
    return error_info.value.code


# Hashes.


@pytest.mark.parametrize(
    ("key", "separator"),
    [
        ("base_mainnet", "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"),
        ("base_sepolia", "0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818"),
    ],
)
def test_the_domain_separators_are_those_of_the_deployed_assets(key: str, separator: str) -> None:
    """What `DOMAIN_SEPARATOR()` of USDC answers on each network (P-NW-03)."""
    network = NETWORKS[key]
    chain_id = int(network.caip2.partition(":")[2])
    domain = Domain(network.eip712_name, network.eip712_version, chain_id, network.asset_id)
    assert domain.separator.hex() == separator[2:]


def test_a_nonce_is_the_keccak_hash_of_the_token() -> None:
    """Keccak-256 as Ethereum uses it, not SHA3-256: of the empty text, and the profile's vector (5.4)."""
    token = "1767225600:0011223344556677:810b7a167fcae78f8f725677312b195896cc6782690363a2edebdc2642bf33b5"
    assert eip3009.nonce_of(token) == "0x0da67b5b616aab08a9a9492d4435ff24d6b06f22afac2b779811d58359e3f54b"
    assert eip3009.nonce_of("") == "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"


# Who signed.


@settings(max_examples=25)
@given(st.binary(min_size=32, max_size=32), st.integers(0, 2**256 - 1), st.binary(min_size=32, max_size=32))
def test_the_signer_is_whoever_signed(key: bytes, value: int, nonce: bytes) -> None:
    """For any key, as eth-account signs; another amount is another message, so another signer or none."""
    number = int.from_bytes(key, "big") % (ORDER - 1) + 1
    authorization = sign_authorization(number.to_bytes(32, "big"), value=value, nonce="0x" + nonce.hex())
    assert eip3009.signer(DOMAIN, authorization) == authorization.payer
    assert eip3009.signer(DOMAIN, replace(authorization, value=value ^ 1)) != authorization.payer


@pytest.mark.parametrize(
    "domain",
    [
        replace(DOMAIN, name="USDC"),
        replace(DOMAIN, version="1"),
        replace(DOMAIN, chain_id=84532),
        replace(DOMAIN, contract="0x" + "11" * 20),
    ],
)
def test_a_signature_for_another_domain_is_another_s(domain: Domain) -> None:
    """Each member of the domain is signed."""
    authorization = sign_authorization(domain=domain)
    assert eip3009.signer(domain, authorization) == authorization.payer
    assert refusal_of(authorization) == "invalid_signature"


def alter_signature(change: Callable[[int, int, int], bytes]) -> str:
    """Return a good signature's text with (r, s, v) changed."""
    raw = bytes.fromhex(sign_authorization().signature[2:])
    return "0x" + change(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:64], "big"), raw[64]).hex()


def pack_signature(r: int, s: int, *end: int) -> bytes:
    return r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes(end)


@pytest.mark.parametrize(
    "signature",
    [
        alter_signature(pack_signature),
        alter_signature(lambda r, s, v: pack_signature(r, s, v - 27)),
        alter_signature(pack_signature)[2:],
        "0x" + alter_signature(pack_signature)[2:].upper(),
    ],
    ids=["v 27 or 28", "v 0 or 1", "without 0x", "in capitals"],
)
def test_a_signature_may_be_written_in_these_ways(signature: str) -> None:
    """V counts from 0 or from 27; the contract gets 27 or 28."""
    authorization = replace(sign_authorization(), signature=signature)
    eip3009.judge_offline(build_offer(authorization))
    assert authorization.vrs is not None
    assert authorization.vrs[0] in {27, 28}


BAD_SIGNATURES = {
    "the other recovery": alter_signature(lambda r, s, v: pack_signature(r, s, 55 - v)),
    "a high s": alter_signature(lambda r, s, v: pack_signature(r, ORDER - s, 55 - v)),
    "v 2": alter_signature(lambda r, s, _: pack_signature(r, s, 2)),
    "v 26": alter_signature(lambda r, s, _: pack_signature(r, s, 26)),
    "v 29": alter_signature(lambda r, s, _: pack_signature(r, s, 29)),
    "v 255": alter_signature(lambda r, s, _: pack_signature(r, s, 255)),
    "r 0": alter_signature(lambda _, s, v: pack_signature(0, s, v)),
    "r the order": alter_signature(lambda _, s, v: pack_signature(ORDER, s, v)),
    "r 2**256 - 1": alter_signature(lambda _, s, v: pack_signature(2**256 - 1, s, v)),
    "s 0": alter_signature(lambda r, _, v: pack_signature(r, 0, v)),
    "zeros": "0x" + "00" * 65,
    "64 bytes": alter_signature(lambda r, s, _: pack_signature(r, s)),
    "66 bytes": alter_signature(lambda r, s, v: pack_signature(r, s, v, 0)),
    "0x alone": "0x",
    "0x twice": "0x" + alter_signature(pack_signature),
    "no hex": "0x" + "zz" * 65,
    "half a byte more": alter_signature(pack_signature) + "0",
    "a line end": alter_signature(pack_signature) + "\n",
    "fullwidth digits": "0x" + "\uff11" * 130,
}


@pytest.mark.parametrize("signature", BAD_SIGNATURES.values(), ids=BAD_SIGNATURES.keys())
def test_a_signature_that_is_none_is_refused(signature: str) -> None:
    """By its code, and never by a fault of the library beneath."""
    assert refusal_of(replace(sign_authorization(), signature=signature)) == "invalid_signature"


# The offline rules, each alone.


def test_an_authorization_as_it_was_asked_for_holds() -> None:
    """Nothing is refused."""
    eip3009.judge_offline(build_offer(sign_authorization()))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"to": "0x" + "cd" * 20}, "wrong_recipient"),
        ({"value": 9_999}, "wrong_amount"),
        ({"value": 10_001}, "wrong_amount"),
        ({"value": 0}, "wrong_amount"),
        ({"nonce": eip3009.nonce_of(TOKEN + " ")}, "weld_mismatch"),
        ({"valid_after": NOW}, "authorization_not_yet_valid"),
        ({"valid_before": NOW + 29}, "authorization_expired"),
        ({"valid_before": 0}, "authorization_expired"),
    ],
)
def test_one_thing_that_is_wrong_is_named(changes: dict[str, Any], code: str) -> None:
    """Signed as it stands, so that nothing else is wrong with it."""
    assert refusal_of(sign_authorization(**changes)) == code
    assert code in CODES_402


@pytest.mark.parametrize(
    "changes", [{"valid_after": NOW - 1}, {"valid_before": NOW + 30}, {"valid_before": 2**256 - 1}]
)
def test_the_window_s_ends_hold(changes: dict[str, Any]) -> None:
    """The window began a second ago; it lasts 30 more seconds, or for ever."""
    eip3009.judge_offline(build_offer(sign_authorization(**changes)))


def test_the_first_thing_that_is_wrong_is_named() -> None:
    """The order of the rules is the profile's: each one mended shows the next."""
    wrong: dict[str, Any] = {
        "to": "0x" + "cd" * 20,
        "value": 1,
        "nonce": "0x" + "00" * 32,
        "valid_after": NOW,
        "valid_before": NOW,
    }
    codes = []
    while wrong:
        codes.append(refusal_of(replace(sign_authorization(**wrong), signature="0x")))
        wrong.pop(next(iter(wrong)))
    codes.append(refusal_of(replace(sign_authorization(), signature="0x")))
    assert codes == [code for _, code in eip3009.OFFLINE]


# Reading.


@pytest.mark.parametrize("number", [7, "7"])
def test_numbers_are_integers_or_decimal_strings(number: int | str) -> None:
    """Both forms of the profile; addresses and nonce are compared in lower case."""
    members = {**sign_authorization().as_members(), "value": number, "to": to_checksum_address(PAYEE)}
    read = Authorization.from_members(members, "0x")
    assert (read.value, read.to) == (7, PAYEE)
    assert Authorization.from_members(read.as_members(), "0x") == read


@pytest.mark.parametrize("name", ["from", "to", "value", "validAfter", "validBefore", "nonce"])
@pytest.mark.parametrize(
    "value",
    [None, True, 1.0, -1, 2**256, "-1", "+1", "1.0", "01", "0x1", " 1", "1\n", "٣", "", [], {}, "9" * 79, str(2**256)],
)
def test_a_member_of_another_kind_is_no_authorization(name: str, value: Any) -> None:
    """One member at a time; a missing one counts as null."""
    with pytest.raises(ValueError, match="not"):
        Authorization.from_members({**sign_authorization().as_members(), name: value}, "0x")


# What settled it.

NONCE = eip3009.nonce_of(TOKEN)
PAID_TRANSFER = Transfer(1, USDC.lower(), sign_authorization().payer, PAYEE, 10_000)
USED = AuthorizationUsed(0, USDC.lower(), sign_authorization().payer, NONCE)


def find_settlement(*events: Transfer | AuthorizationUsed) -> Transfer | None:
    """Return what counts as the settlement in a transaction with these events, each at its own place."""
    transaction = ObservedTransaction(
        TxStatus.CONFIRMED,
        final=True,
        transfers=tuple(one for one in events if isinstance(one, Transfer)),
        authorizations_used=tuple(one for one in events if isinstance(one, AuthorizationUsed)),
    )
    return eip3009.settling_transfer(transaction, sign_authorization(), TERMS)


def test_the_transfer_directly_after_its_use_settles() -> None:
    """Whatever stands around the two."""
    assert find_settlement(USED, PAID_TRANSFER) == PAID_TRANSFER
    moved_transfer = replace(PAID_TRANSFER, ordinal=8)
    assert (
        find_settlement(PAID_TRANSFER, replace(USED, ordinal=7), moved_transfer, replace(PAID_TRANSFER, ordinal=9))
        == moved_transfer
    )


def test_one_s_own_authorization_beside_an_unrelated_transfer_settles_nothing() -> None:
    """P-LN-10, base-self-authorization: the same nonce to himself; the price went to the payee for something else."""
    to_himself = replace(PAID_TRANSFER, receiver=sign_authorization().payer)
    unrelated_transfer = replace(PAID_TRANSFER, ordinal=2)
    assert find_settlement(USED, to_himself, unrelated_transfer) is None
    assert (
        find_settlement(replace(PAID_TRANSFER, ordinal=0), replace(USED, ordinal=1), replace(to_himself, ordinal=2))
        is None
    )


def test_of_many_uses_before_one_transfer_only_the_last_is_settled() -> None:
    """P-LN-10, base-batched-authorizations: k nonces, one transfer: it belongs to the use right before it."""
    other_uses = [replace(USED, ordinal=at, nonce=eip3009.nonce_of(str(at))) for at in (1, 2)]
    assert find_settlement(USED, *other_uses, replace(PAID_TRANSFER, ordinal=3)) is None
    last = replace(PAID_TRANSFER, ordinal=4)
    assert find_settlement(*other_uses, replace(USED, ordinal=3), last) == last


@pytest.mark.parametrize(
    "events",
    [
        (),
        (USED,),
        (PAID_TRANSFER,),
        (PAID_TRANSFER, replace(USED, ordinal=2)),
        (USED, replace(PAID_TRANSFER, ordinal=2)),
        (replace(USED, asset="0x" + "11" * 20), PAID_TRANSFER),
        (replace(USED, authorizer="0x" + "11" * 20), PAID_TRANSFER),
        (replace(USED, nonce="0x" + "11" * 32), PAID_TRANSFER),
        (USED, replace(PAID_TRANSFER, asset="0x" + "11" * 20)),
        (USED, replace(PAID_TRANSFER, sender="0x" + "11" * 20)),
        (USED, replace(PAID_TRANSFER, receiver="0x" + "11" * 20)),
        (USED, replace(PAID_TRANSFER, value=9_999)),
        (USED, replace(PAID_TRANSFER, value=10_001)),
    ],
)
def test_what_does_not_settle(events: tuple[Transfer | AuthorizationUsed, ...]) -> None:
    """One event missing, elsewhere, or with one member of another's."""
    assert find_settlement(*events) is None
