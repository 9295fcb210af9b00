"""The second parsers: each reads what a library made, and names a fault that is put into it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from algosdk import account, encoding, transaction
from eth_account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import Transaction
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.instructions import get_associated_token_address, transfer_checked
from spl.token.models import TransferCheckedParams

from tests.algorand_signing import signed_by
from tools.requests_parsed import algorand, base, http1, messages, payments, plain_json, solana, structured_fields

TOKEN = "1795458974:a17f4053d2d9e738:" + "0a" * 32
NOW = 1795458980.0


def entry(network: str, asset: str, pay_to: str, **extra: str) -> dict[str, Any]:
    """Return an `accepts` entry."""
    terms = {"network": network, "asset": asset, "payTo": pay_to, "maxAmountRequired": "50000"}
    return {**terms, "maxTimeoutSeconds": 1800, "extra": {"payment_reference": TOKEN, **extra}}


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, set()),
        ({"amt": 49_999}, {"amount: less"}),
        ({"index": 7}, {"asset"}),
        ({"note": b""}, {"weld: missing or altered"}),
        ({"note": b"another"}, {"weld: of another challenge"}),
    ],
)
def test_an_algorand_transfer_has_its_faults(changes: dict[str, Any], faults: set[str]) -> None:
    """The id is the SDK's, and what differs from the entry is named."""
    key, sender = account.generate_account()
    payee = account.generate_account()[1]
    params = transaction.SuggestedParams(1000, 1, 1000, base64.b64encode(bytes(32)).decode(), flat_fee=True)
    terms = {"amt": 50_000, "index": 31_566_704, "note": TOKEN.encode(), **changes}
    transfer = transaction.AssetTransferTxn(sender, params, payee, **terms)
    wire = base64.b64decode(encoding.msgpack_encode(signed_by(key, transfer)))
    ((identity, read),) = algorand.read(wire).items()
    assert identity == transfer.get_txid()
    terms_of_entry = entry("algorand:x", "31566704", payee)
    assert algorand.deviations(read, terms_of_entry, {TOKEN: None, "another": None}) == faults
    (broken_transfer,) = algorand.read(wire.replace(b"axfer", b"axfes")).values()
    assert "the transaction's signature" in algorand.deviations(broken_transfer, terms_of_entry, {})


def _authorization(**changes: Any) -> dict[str, Any]:
    payer = Account.from_key(b"\x11" * 32)
    nonce = "0x" + base.keccak(TOKEN.encode()).hex()
    terms = {"from": payer.address, "to": "0x" + "22" * 20, "value": 50_000, "validAfter": 0, "validBefore": 2**40}
    terms |= {"nonce": nonce, **changes}
    kinds = {"from": "address", "to": "address", "nonce": "bytes32"}
    type_list = [{"name": name, "type": kinds.get(name, "uint256")} for name in terms]
    domain = {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": "0x" + "33" * 20}
    signed_message = Account.sign_typed_data(b"\x11" * 32, domain, {"TransferWithAuthorization": type_list}, terms)
    text_members = {name: str(value) for name, value in terms.items()}
    return {"authorization": text_members, "signature": "0x" + signed_message.signature.hex(), "challenge_token": TOKEN}


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, set()),
        ({"value": 49_999}, {"amount: less"}),
        ({"to": "0x" + "44" * 20}, {"receiver"}),
        ({"nonce": "0x" + "55" * 32}, {"weld: missing or altered"}),
        ({"validBefore": 9}, {"window: closed or about to"}),
        ({"validAfter": 2**40}, {"window: not yet open"}),
    ],
)
def test_an_authorization_has_its_faults(changes: dict[str, Any], faults: set[str]) -> None:
    """What eth-account signed recovers to its signer, and one wrong member is one fault."""
    challenge_entry = entry("eip155:8453", "0x" + "33" * 20, "0x" + "22" * 20, name="USD Coin", version="2")
    proof = _authorization(**changes)
    assert base.deviations(proof, challenge_entry, {}, NOW) == faults
    proof["authorization"]["validBefore"] = str(2**41)
    stale = {"signature: of another signer or over something else"}
    assert base.deviations(proof, challenge_entry, {}, NOW) == stale | faults - {"window: closed or about to"}


@pytest.mark.parametrize(
    ("amount", "reference", "faults"),
    [
        (50_000, True, set()),
        (49_999, True, {"amount: less"}),
        (50_000, False, {"weld: missing or altered"}),
    ],
)
def test_a_solana_transfer_has_its_faults(amount: int, reference: bool, faults: set[str]) -> None:
    """The id is the SDK's, the payee's account is derived, and what differs from the entry is named."""
    payer, payee, mint, other_key = Keypair(), Keypair().pubkey(), Keypair().pubkey(), Keypair().pubkey()
    source, dest = (get_associated_token_address(owner, mint) for owner in (payer.pubkey(), payee))
    terms = TransferCheckedParams(
        program_id=TOKEN_PROGRAM_ID,
        source=source,
        mint=mint,
        dest=dest,
        owner=payer.pubkey(),
        amount=amount,
        decimals=6,
    )
    instruction = transfer_checked(terms)
    if reference:
        instruction = type(instruction)(
            instruction.program_id, bytes(instruction.data), [*instruction.accounts, _read_only(other_key)]
        )
    signed_transaction = Transaction([payer], Message([instruction], payer.pubkey()), Hash.default())
    identity, read = solana.read(bytes(signed_transaction))
    assert identity == str(signed_transaction.signatures[0])
    challenge_entry = entry("solana:x", str(mint), str(payee), svm_reference_pubkey=str(other_key))
    assert solana.deviations(read, challenge_entry, {}) == faults


def _read_only(key: Pubkey) -> Any:
    return AccountMeta(key, is_signer=False, is_writable=False)


@pytest.mark.parametrize(
    ("raw", "faults"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", set()),
        (b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", {"request line"}),
        (b"GET / HTTP/1.1\r\nX-PAYMENT: a\r\nx-payment: a\r\nHost: a\r\n\r\n", {"x-payment twice"}),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab", {"shorter than content-length"}),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nab",
            {"longer than content-length"},
        ),
        (b"GET / HTTP/1.1\r\n\r\n", {"no host"}),
    ],
)
def test_a_request_has_its_faults(raw: bytes, faults: set[str]) -> None:
    """RFC 9112's grammar, and no more."""
    request = http1.read(raw)
    assert request is not None
    assert request.faults == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (b'{"a":1}', set()),
        (b'{"a":1,"a":2}', {"JSON member twice"}),
        (b'{"a":NaN}', {"not JSON"}),
        (b"\xff", {"JSON is not UTF-8"}),
        (b"\xef\xbb\xbf{}", {"JSON after a byte order mark"}),
        (b'"\\ud800"', {"JSON with half a surrogate pair"}),
    ],
)
def test_json_has_its_faults(text: bytes, faults: set[str]) -> None:
    """What the suite sends as broken JSON is found, by its kind."""
    assert plain_json.read(text)[1] == faults


@pytest.mark.parametrize("text", ['a=("b"', "A=1", "a=1,", 'a="é"', "a=:!:", "a=1 b=2"])
def test_a_malformed_dictionary_is_none(text: str) -> None:
    """RFC 8941 is taken by its letter."""
    with pytest.raises(structured_fields.Malformed):
        structured_fields.dictionary(text)


def _message(**changes: Any) -> dict[str, Any]:
    """Return the message of RFC 9421, B.2.6."""
    headers = {
        "Date": "Tue, 20 Apr 2021 02:07:55 GMT",
        "Content-Type": "application/json",
        "Content-Length": "18",
        "Signature-Input": 'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");'
        'created=1618884473;keyid="test-key-ed25519"',
        "Signature": "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw"
        "==:",
    }
    key = base64.urlsafe_b64decode("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs=").hex()
    body = {"method": "POST", "authority": "example.com", "path": "/foo?param=Value&Pet=dog", "headers": headers}
    return {**body, "public_key_hex": key, **changes}


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, set()),
        ({"method": "PUT"}, {"signature"}),
        ({"body_b64": "e30="}, {"digest missing"}),
        ({"expected_tag": "x"}, {"tag"}),
        ({"now": 1_618_884_000}, {"created in the future"}),
        ({"required_components": ["digest"]}, {"required component not covered"}),
        ({"public_key_hex": "01" + "00" * 31}, {"key of small order"}),
    ],
)
def test_a_signed_message_has_its_faults(changes: dict[str, Any], faults: set[str]) -> None:
    """The RFC's own message has none, and one change is one fault."""
    assert messages.deviations(_message(**changes), NOW, key_needed=True) == faults


def test_faults_of_a_payment_do_not_hide_each_other() -> None:
    """The content of malformed base64 is also examined."""
    text = base64.b64encode(json.dumps({"tx_id": "A" * 52, "payment_reference": TOKEN}).encode()).decode().rstrip("=")
    request_text = f"POST /a HTTP/1.1\r\nHost: a\r\nX-PAYMENT: {text} \r\n\r\n".replace(text, text[:9] + " " + text[9:])
    request = http1.read(request_text.encode())
    assert request is not None
    world = payments.World()
    world.challenges[TOKEN] = payments.Challenge(
        "algorand", entry("algorand:x", "1", "A"), payments.binding_of(request)
    )
    fault_set, _ = payments.deviations(request, world, NOW)
    assert fault_set == {"X-PAYMENT: not base64", "transaction: unknown"}
