"""Authorizations on Base that pay the challenge, and that the payer's own key has not signed as they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eth_utils.crypto import keccak

from conformance.lanes.base.authorization import ORDER, Authorization, Domain
from conformance.lanes.base.eth_account_import import Signer
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import base_wallet as wallet
from tools.vectors_builder.welds.base_wallet import DOMAIN, PAYER, STRANGER, USDC
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, CODES, PRICE, draft_refusal, draw

_HOLDER: Final = ("profile 5.5 P-LN-04",)
# Who turns the 64 bytes into v, r and s before he settles hands the contract the one form that it takes.
_LENGTH: Final = ("profile 5.5: a signature has 65 bytes",)
_MAGIC: Final = "6492" * 16


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _signers()
    yield from _altered_drafts()
    yield from _forms()
    yield from _domains()
    yield from _messages()
    yield from _contracts()


def _bad(
    fault_name: str,
    variant: str,
    authorization: Authorization,
    fault: str,
    why: str,
    *,
    signature: str | None = None,
    pins: tuple[str, ...] = (),
) -> Draft:
    evidence = wallet.build_evidence(authorization, signature=signature)
    return draft_refusal(
        "signature", fault_name, variant, evidence, fault, why, "RAIL-PAY-12",
        code="invalid_signature", pinned_members=ALL_MEMBERS if pins else CODES, pins=pins,
    )  # fmt: skip


def _signers() -> Iterator[Draft]:
    why = "an authorization is the payer's only when his key has signed it"
    stranger_authorization = wallet.offer().sign(STRANGER.key)
    yield _bad("signer", "another", stranger_authorization, "another key has signed", why)
    stranger_payer = wallet.sign().with_changes(sender=STRANGER.address)
    yield _bad("signer", "payer-renamed", stranger_payer, "it is shown as another payer's", why)
    nobody = wallet.offer(sender="0x" + "0" * 40, signature=bytes(64) + b"\x1b")
    fault = "the zero address pays, and the signature is one from which recovery gives nobody"
    yield _bad("signer", "zero-address", nobody, fault, "a failed recovery must not look like an address")
    good = wallet.sign()
    for variant, place in (("in-r", 5), ("in-s", 40)):
        raw = bytearray(good.signature)
        raw[place] ^= 1
        yield _bad("bit", variant, good.with_changes(signature=bytes(raw)), "a bit of the signature is flipped", why)
    other_recovery = good.with_recovery(55 - good.signature[64])
    yield _bad("bit", "other-v", other_recovery, "v is the other of the two", why)


def _altered_drafts() -> Iterator[Draft]:
    """What the payer signed was something else; what is shown is the payment that was asked for."""
    offer = wallet.offer()
    changes: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("altered", "value", {"value": PRICE // 10}, "a smaller value was signed"),
        ("altered", "to", {"to": STRANGER.address}, "another payee was signed"),
        ("altered", "nonce", {"nonce": draw("signed nonce")}, "another nonce was signed"),
        ("altered-window", "begin", {"valid_after": wallet.NOW + 60}, "a later begin was signed"),
        ("altered-window", "end", {"valid_before": wallet.NOW}, "an earlier end was signed"),
    )
    why = "every member is covered by the signature"
    for fault_name, variant, change, fault in changes:
        signature = wallet.sign(**change).signature
        yield _bad(fault_name, variant, offer.with_changes(signature=signature), fault, why)


def _forms() -> Iterator[Draft]:
    good = wallet.sign()
    why = "the contract takes one form of a signature, so that nobody else can make a second one"
    yield _bad("high-s", "other-v", good.with_other_s(), "s is the order less s, and v the other of the two", why)
    raw = good.signature
    high_s = (ORDER - int.from_bytes(raw[32:64], "big")).to_bytes(32, "big")
    yield _bad(
        "high-s", "same-v", good.with_changes(signature=raw[:32] + high_s + raw[64:]), "s is the order less s", why
    )
    for v in (2, 26, 29):
        yield _bad("v", f"{v}", good.with_recovery(v), f"the last byte, v, is {v}", why)
    eip155 = good.with_recovery(0)
    text = "0x" + eip155.signature[:64].hex() + f"{8453 * 2 + 35:x}".rjust(6, "0")
    yield _bad("length", "chain-id-in-v", good, "v carries the chain id, as of a transaction", why, signature=text)
    fault = "the signature is in 64 bytes (EIP-2098)"
    yield _bad("length", "compact", good.compact(), fault, why, pins=_LENGTH)
    yield _bad("length", "byte-more", good, "there is a byte after v", why, signature="0x" + raw.hex() + "00")
    yield _bad("nothing", "empty", good, "there is no signature", why, signature="0x")
    yield _bad("nothing", "zero", good.with_changes(signature=bytes(64) + b"\x1b"), "r and s are zero", why)
    yield _bad("nothing", "no-hex", good, "the signature is in base64", why, signature="MEUCIQ==" * 16)
    top = ORDER.to_bytes(32, "big")
    yield _bad("range", "r-is-order", good.with_changes(signature=top + raw[32:]), "r is the curve's order", why)
    turned_signature = raw[64:] + raw[:64]
    yield _bad("arranged", "v-first", good.with_changes(signature=turned_signature), "v stands before r and s", why)
    swapped_signature = raw[32:64] + raw[:32] + raw[64:]
    yield _bad("arranged", "s-first", good.with_changes(signature=swapped_signature), "s stands before r", why)


def _domains() -> Iterator[Draft]:
    cases = (
        ("domain-chain", "sepolia", Domain("USD Coin", "2", 84532, USDC), "it is signed for the test network's id"),
        ("domain-chain", "ethereum", Domain("USD Coin", "2", 1, USDC), "it is signed for Ethereum's id"),
        ("domain-name", "usdc", Domain("USDC", "2", 8453, USDC), "the domain has the test network's name"),
        ("domain-name", "bridged", Domain("USD Base Coin", "2", 8453, USDC), "the domain has the bridged coin's name"),
        ("domain-version", "one", Domain("USD Coin", "1", 8453, USDC), "the domain's version is 1"),
        ("domain-version", "empty", Domain("USD Coin", "", 8453, USDC), "the domain has no version"),
        ("domain-contract", "test-network", Domain("USD Coin", "2", 8453, wallet.TEST_USDC),
         "the domain has the test network's contract"),
        ("domain-contract", "zero", Domain("USD Coin", "2", 8453, "0x" + "0" * 40), "the domain has no contract"),
    )  # fmt: skip
    why = "a signature counts for one contract on one chain"
    for fault_name, variant, domain, fault in cases:
        signature = wallet.sign(domain=domain).signature
        yield _bad(fault_name, variant, wallet.offer(signature=signature), fault, why)


def _messages() -> Iterator[Draft]:
    """Signatures of the payer over the right members in another message."""
    why = "a signature counts for one kind of message"
    for variant, kind in (("receive", "ReceiveWithAuthorization"), ("own-name", "Transfer")):
        authorization = wallet.offer().sign(PAYER.key, kind=kind)
        yield _bad("message", variant, authorization, f"a {kind} is signed", why)
    authorization = wallet.sign()
    digest = bytes.fromhex(str(wallet.values(authorization)["digest"])[2:])
    again = bytes(Signer.unsafe_sign_hash(keccak(digest), PAYER.key).signature)
    yield _bad(
        "message", "hashed-twice", authorization.with_changes(signature=again), "the digest is hashed once more", why
    )
    personal = keccak(b"\x19Ethereum Signed Message:\n32" + digest)
    signature = bytes(Signer.unsafe_sign_hash(personal, PAYER.key).signature)
    fault = "the digest is signed as a personal message"
    yield _bad("message-personal", "digest", authorization.with_changes(signature=signature), fault, why)
    token = keccak(b"\x19Ethereum Signed Message:\n92" + wallet.TOKEN.encode())
    signature = bytes(Signer.unsafe_sign_hash(token, PAYER.key).signature)
    fault = "the token is signed as a personal message"
    yield _bad("message-personal", "token", authorization.with_changes(signature=signature), fault, why)
    plain = {**DOMAIN.data()}
    del plain["verifyingContract"]
    types = [("from", "address"), ("to", "address"), ("value", "uint256"), ("validAfter", "uint256")]
    types += [("validBefore", "uint256"), ("nonce", "bytes32")]
    other_type = {"TransferWithAuthorization": [{"name": name, "type": type_} for name, type_ in types]}
    signature = bytes(Signer.sign_typed_data(PAYER.key, plain, other_type, authorization.message).signature)
    fault = "the domain has no member verifyingContract"
    yield _bad("domain-members", "no-contract", authorization.with_changes(signature=signature), fault, why)
    salted_domain = {**DOMAIN.data(), "salt": draw("salt")}
    signature = bytes(Signer.sign_typed_data(PAYER.key, salted_domain, other_type, authorization.message).signature)
    yield _bad(
        "domain-members", "salt", authorization.with_changes(signature=signature), "the domain has a salt, too", why
    )


def _contracts() -> Iterator[Draft]:
    """Signatures that only a contract could judge."""
    good = wallet.sign()
    why = "whether a contract would accept a signature cannot be told without the chain"
    owner = "0x" + PAYER.address[2:].lower().rjust(64, "0") + good.signature.hex()
    fault = "the signature is a contract wallet's bytes (ERC-1271)"
    yield _bad("contract", "erc-1271", good, fault, why, signature=owner, pins=_HOLDER)
    several = "0x" + good.signature.hex() + wallet.offer().sign(STRANGER.key).signature.hex()
    fault = "the signature is two owners' signatures in a row"
    yield _bad("contract", "two-owners", good, fault, why, signature=several, pins=_HOLDER)
    wrapped_signature = "0x" + STRANGER.address[2:].lower().rjust(64, "0") + good.signature.hex() + _MAGIC
    fault = "the signature is of a wallet not deployed yet (ERC-6492)"
    yield _bad("contract", "erc-6492", good, fault, why, signature=wrapped_signature, pins=_HOLDER)
