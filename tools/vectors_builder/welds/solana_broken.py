"""Solana transactions that no validator takes, though everything in them pays the challenge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from solders.hash import Hash
from solders.message import Message, MessageAddressTableLookup, MessageV0, to_bytes_versioned
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from conformance.lanes.solana.instructions import associated_account, memo
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import solana_wallet as wallet
from tools.vectors_builder.welds.drafting import ALL, CODES, PRICE, TOLD_PIN, draw, refused
from tools.vectors_builder.welds.solana_wallet import MINT, PAYER, SPONSOR, STRANGER

_WHY: Final = "who judges a transaction that he was handed must not take what a validator would refuse"
_TOLD: Final = (TOLD_PIN,)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _signatures()
    yield from _altered()
    yield from _forms()
    yield from _indices()
    yield from _loaded()


def _broken(
    fault_name: str,
    variant: str,
    sent: VersionedTransaction | bytes,
    fault: str,
    *,
    pins: tuple[str, ...] = (),
    **members: Any,
) -> Draft:
    given = wallet.seen(sent, **members)
    return refused(
        "transaction", fault_name, variant, given, fault, _WHY, "RAIL-PAY-06",
        code="invalid_transaction", pinned=ALL if pins else CODES, pins=pins,
    )  # fmt: skip


def _signatures() -> Iterator[Draft]:
    good = wallet.signed(wallet.transfer().instruction())
    raw = bytearray(bytes(good))
    raw[1] ^= 1
    yield _broken("signature", "bit", bytes(raw), "a bit of the signature is flipped")
    by_other = VersionedTransaction.populate(good.message, [STRANGER.sign_message(to_bytes_versioned(good.message))])
    yield _broken("signature", "by-another", by_other, "another account's key has signed")
    empty = VersionedTransaction.populate(good.message, [Signature.default()])
    yield _broken("signature", "zero", empty, "the signature is zero, as before signing")
    both = wallet.signed(wallet.transfer().instruction(), signers=(SPONSOR, PAYER))
    first = VersionedTransaction.populate(both.message, [both.signatures[0], both.signatures[0]])
    yield _broken("signature-second", "copied", first, "the owner's signature is a copy of the sponsor's")
    swapped = VersionedTransaction.populate(both.message, both.signatures[::-1])
    yield _broken("signature-second", "swapped", swapped, "two signatures stand under each other's key")
    lacking = VersionedTransaction.populate(both.message, both.signatures[:1])
    yield _broken("signature-count", "too-few", lacking, "one of two has signed")
    surplus = VersionedTransaction.populate(good.message, [good.signatures[0], good.signatures[0]])
    yield _broken("signature-count", "too-many", surplus, "there is a signature more than signers")
    yield _broken("signature-count", "none", b"\x00" + to_bytes_versioned(good.message), "nobody has signed")


def _altered() -> Iterator[Draft]:
    """The other transaction's signature over the one that pays."""
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("amount", {"amount": PRICE // 10}, "the amount was changed after it was signed"),
        ("destination", {"destination": associated_account(STRANGER.pubkey(), MINT)},
         "the destination was changed after it was signed"),
        ("reference", {"references": (wallet.address("reference"),)}, "the reference was changed after it was signed"),
    )  # fmt: skip
    good = wallet.signed(wallet.transfer().instruction())
    for variant, change, fault in cases:
        other = wallet.signed(wallet.transfer(**change).instruction())
        yield _broken("altered", variant, VersionedTransaction.populate(good.message, other.signatures), fault)
    old = Message.new_with_blockhash(
        [wallet.transfer().instruction()], PAYER.pubkey(), Hash.from_bytes(draw("old block hash"))
    )
    stale = VersionedTransaction(old, [PAYER])
    renewed = VersionedTransaction.populate(good.message, stale.signatures)
    yield _broken("altered-block-hash", "renewed", renewed, "the block hash was renewed after it was signed")


def _signed_bytes(message: bytes) -> bytes:
    return b"\x01" + bytes(PAYER.sign_message(message)) + message


def _forms() -> Iterator[Draft]:
    """True signatures over malformed messages."""
    good = wallet.signed(wallet.transfer().instruction())
    message = to_bytes_versioned(good.message)
    yield _broken("form-end", "byte-more", _signed_bytes(message + b"\x00"), "there is a byte after the message")
    yield _broken("form-end", "byte-less", _signed_bytes(message[:-1]), "the message ends a byte early")
    v0, _ = wallet.signed_v0(wallet.transfer().instruction())
    versioned = to_bytes_versioned(v0.message)
    yield _broken("form-version", "one", _signed_bytes(b"\x81" + versioned[1:]), "the message is of version 1")
    fault = "the message is said to be of version 0 and has no list of tables"
    yield _broken("form-version", "no-tables", _signed_bytes(b"\x80" + message), fault)
    count = message[3]
    fault = "the number of accounts is written in two bytes, though one would do"
    wide = message[:3] + bytes([count | 0x80, 0]) + message[4:]
    yield _broken("form-length", "wide", _signed_bytes(wide), fault)
    long = wallet.signed(memo(PAYER.pubkey(), b"x" * 1000), wallet.transfer().instruction())
    yield _broken("packet", "too-long", long, "it is longer than 1232 bytes")


def _indices() -> Iterator[Draft]:
    good = wallet.signed(wallet.transfer().instruction())
    message = to_bytes_versioned(good.message)
    compiled = good.message.instructions[0]
    places, keys = bytes(compiled.accounts), len(good.message.account_keys)
    beyond = message.replace(places, bytes([*places, keys]))
    beyond = beyond.replace(bytes([len(places), *places]), bytes([len(places) + 1, *places]))
    yield _broken("index", "account", _signed_bytes(beyond), "the transfer names an account after the last")
    called = bytes([compiled.program_id_index, len(places)])
    far = message.replace(called + places, bytes([keys, len(places)]) + places)
    yield _broken("index", "program", _signed_bytes(far), "the instruction calls an account after the last")
    header = bytes([1, 1]) + message[2:]
    yield _broken("index", "header", _signed_bytes(header), "no signer may be debited for the fee")


def _loaded() -> Iterator[Draft]:
    made = wallet.transfer()
    own = wallet.reference()
    tables = (wallet.table("reference", STRANGER.pubkey(), own),)
    sent, loaded = wallet.signed_v0(made.instruction(), tables=tables)
    yield _broken("loaded", "none", sent, "the address that it looks up is not told")
    more = {**loaded, "readonly": [*loaded["readonly"], str(STRANGER.pubkey())]}
    fault = "an address is told that it does not look up"
    yield _broken("loaded", "more", sent, fault, pins=_TOLD, loaded_addresses=more)
    swapped = {"writable": loaded["readonly"], "readonly": []}
    fault = "the address that it looks up read-only is told as writable"
    yield _broken("loaded", "writable", sent, fault, pins=_TOLD, loaded_addresses=swapped)
    good = wallet.signed_v0(made.instruction())[0].message
    again = MessageAddressTableLookup(tables[0].key, b"", b"\x01")
    twice = MessageV0(good.header, good.account_keys, good.recent_blockhash, good.instructions, [again])
    fault = "it looks up an account that it names already"
    yield _broken("loaded-twice", "reference", VersionedTransaction(twice, [PAYER]), fault, loaded_addresses=loaded)
    plain = wallet.signed(made.changed(references=()).instruction())
    told = {"writable": [], "readonly": [str(own)]}
    fault = "addresses are told though a legacy message looks none up"
    yield _broken("loaded-legacy", "reference", plain, fault, loaded_addresses=told)
