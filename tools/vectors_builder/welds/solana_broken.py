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
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, CODES, PRICE, TOLD_PIN, draft_refusal, draw
from tools.vectors_builder.welds.solana_wallet import MINT, PAYER, SPONSOR, STRANGER

_WHY: Final = "who judges a transaction that he was handed must not take what a validator would refuse"
_REPORT_PIN: Final = (TOLD_PIN,)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _signatures()
    yield from _altered_drafts()
    yield from _forms()
    yield from _indices()
    yield from _loaded_drafts()


def _draft_broken(
    fault_name: str,
    variant: str,
    signed_transaction: VersionedTransaction | bytes,
    fault: str,
    *,
    pins: tuple[str, ...] = (),
    **members: Any,
) -> Draft:
    evidence = wallet.build_evidence(signed_transaction, **members)
    return draft_refusal(
        "transaction", fault_name, variant, evidence, fault, _WHY, "RAIL-PAY-06",
        code="invalid_transaction", pinned_members=ALL_MEMBERS if pins else CODES, pins=pins,
    )  # fmt: skip


def _signatures() -> Iterator[Draft]:
    good = wallet.sign(wallet.transfer().instruction())
    raw = bytearray(bytes(good))
    raw[1] ^= 1
    yield _draft_broken("signature", "bit", bytes(raw), "a bit of the signature is flipped")
    by_other = VersionedTransaction.populate(good.message, [STRANGER.sign_message(to_bytes_versioned(good.message))])
    yield _draft_broken("signature", "by-another", by_other, "another account's key has signed")
    empty = VersionedTransaction.populate(good.message, [Signature.default()])
    yield _draft_broken("signature", "zero", empty, "the signature is zero, as before signing")
    doubly_signed = wallet.sign(wallet.transfer().instruction(), signers=(SPONSOR, PAYER))
    first = VersionedTransaction.populate(
        doubly_signed.message, [doubly_signed.signatures[0], doubly_signed.signatures[0]]
    )
    yield _draft_broken("signature-second", "copied", first, "the owner's signature is a copy of the sponsor's")
    swapped_signatures = VersionedTransaction.populate(doubly_signed.message, doubly_signed.signatures[::-1])
    yield _draft_broken(
        "signature-second", "swapped", swapped_signatures, "two signatures stand under each other's key"
    )
    one_signature = VersionedTransaction.populate(doubly_signed.message, doubly_signed.signatures[:1])
    yield _draft_broken("signature-count", "too-few", one_signature, "one of two has signed")
    surplus = VersionedTransaction.populate(good.message, [good.signatures[0], good.signatures[0]])
    yield _draft_broken("signature-count", "too-many", surplus, "there is a signature more than signers")
    yield _draft_broken("signature-count", "none", b"\x00" + to_bytes_versioned(good.message), "nobody has signed")


def _altered_drafts() -> Iterator[Draft]:
    """The other transaction's signature over the one that pays."""
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("amount", {"amount": PRICE // 10}, "the amount was changed after it was signed"),
        ("destination", {"destination": associated_account(STRANGER.pubkey(), MINT)},
         "the destination was changed after it was signed"),
        ("reference", {"references": (wallet.address("reference"),)}, "the reference was changed after it was signed"),
    )  # fmt: skip
    good = wallet.sign(wallet.transfer().instruction())
    for variant, change, fault in cases:
        other_transaction = wallet.sign(wallet.transfer(**change).instruction())
        yield _draft_broken(
            "altered", variant, VersionedTransaction.populate(good.message, other_transaction.signatures), fault
        )
    old = Message.new_with_blockhash(
        [wallet.transfer().instruction()], PAYER.pubkey(), Hash.from_bytes(draw("old block hash"))
    )
    stale = VersionedTransaction(old, [PAYER])
    renewed_transaction = VersionedTransaction.populate(good.message, stale.signatures)
    yield _draft_broken(
        "altered-block-hash", "renewed", renewed_transaction, "the block hash was renewed after it was signed"
    )


def _signed_bytes(message: bytes) -> bytes:
    return b"\x01" + bytes(PAYER.sign_message(message)) + message


def _forms() -> Iterator[Draft]:
    """True signatures over malformed messages."""
    good = wallet.sign(wallet.transfer().instruction())
    message = to_bytes_versioned(good.message)
    yield _draft_broken("form-end", "byte-more", _signed_bytes(message + b"\x00"), "there is a byte after the message")
    yield _draft_broken("form-end", "byte-less", _signed_bytes(message[:-1]), "the message ends a byte early")
    v0, _ = wallet.signed_v0(wallet.transfer().instruction())
    versioned_bytes = to_bytes_versioned(v0.message)
    yield _draft_broken(
        "form-version", "one", _signed_bytes(b"\x81" + versioned_bytes[1:]), "the message is of version 1"
    )
    fault = "the message is said to be of version 0 and has no list of tables"
    yield _draft_broken("form-version", "no-tables", _signed_bytes(b"\x80" + message), fault)
    count = message[3]
    fault = "the number of accounts is written in two bytes, though one would do"
    wide = message[:3] + bytes([count | 0x80, 0]) + message[4:]
    yield _draft_broken("form-length", "wide", _signed_bytes(wide), fault)
    long = wallet.sign(memo(PAYER.pubkey(), b"x" * 1000), wallet.transfer().instruction())
    yield _draft_broken("packet", "too-long", long, "it is longer than 1232 bytes")


def _indices() -> Iterator[Draft]:
    good = wallet.sign(wallet.transfer().instruction())
    message = to_bytes_versioned(good.message)
    compiled_instruction = good.message.instructions[0]
    places, keys = bytes(compiled_instruction.accounts), len(good.message.account_keys)
    beyond = message.replace(places, bytes([*places, keys]))
    beyond = beyond.replace(bytes([len(places), *places]), bytes([len(places) + 1, *places]))
    yield _draft_broken("index", "account", _signed_bytes(beyond), "the transfer names an account after the last")
    call_head = bytes([compiled_instruction.program_id_index, len(places)])
    far = message.replace(call_head + places, bytes([keys, len(places)]) + places)
    yield _draft_broken("index", "program", _signed_bytes(far), "the instruction calls an account after the last")
    header = bytes([1, 1]) + message[2:]
    yield _draft_broken("index", "header", _signed_bytes(header), "no signer may be debited for the fee")


def _loaded_drafts() -> Iterator[Draft]:
    transfer = wallet.transfer()
    own = wallet.reference()
    tables = (wallet.table("reference", STRANGER.pubkey(), own),)
    signed_transaction, loaded_addresses = wallet.signed_v0(transfer.instruction(), tables=tables)
    yield _draft_broken("loaded", "none", signed_transaction, "the address that it looks up is not told")
    more = {**loaded_addresses, "readonly": [*loaded_addresses["readonly"], str(STRANGER.pubkey())]}
    fault = "an address is told that it does not look up"
    yield _draft_broken("loaded", "more", signed_transaction, fault, pins=_REPORT_PIN, loaded_addresses=more)
    swapped_addresses = {"writable": loaded_addresses["readonly"], "readonly": []}
    fault = "the address that it looks up read-only is told as writable"
    yield _draft_broken(
        "loaded", "writable", signed_transaction, fault, pins=_REPORT_PIN, loaded_addresses=swapped_addresses
    )
    good = wallet.signed_v0(transfer.instruction())[0].message
    again = MessageAddressTableLookup(tables[0].key, b"", b"\x01")
    twice = MessageV0(good.header, good.account_keys, good.recent_blockhash, good.instructions, [again])
    fault = "it looks up an account that it names already"
    yield _draft_broken(
        "loaded-twice", "reference", VersionedTransaction(twice, [PAYER]), fault, loaded_addresses=loaded_addresses
    )
    plain = wallet.sign(transfer.with_changes(references=()).instruction())
    reported_addresses = {"writable": [], "readonly": [str(own)]}
    fault = "addresses are told though a legacy message looks none up"
    yield _draft_broken("loaded-legacy", "reference", plain, fault, loaded_addresses=reported_addresses)
