"""Algorand transactions that no node takes, though everything in them pays the challenge."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgpack
from algosdk import encoding, transaction
from nacl.signing import SigningKey

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import algorand_wallet as wallet
from tools.vectors_builder.welds.algorand_valid import PROGRAM, shared_payment
from tools.vectors_builder.welds.algorand_wallet import PAYER, SPONSOR, STRANGER
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, CODES, PRICE, TOLD_PIN, draft_refusal, draw

_WHY: Final = "who judges a transaction that he was handed must not take what a node would refuse"
_REPORT_PIN: Final = (TOLD_PIN,)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _signatures()
    yield from _altered_drafts()
    yield from _encodings()
    yield from _multisig_drafts()
    yield from _programs()
    yield from _misplaced_drafts()


def _draft_broken(
    fault_name: str, variant: str, signed_text: str, fault: str, *, pins: tuple[str, ...] = (), **members: Any
) -> Draft:
    evidence = wallet.build_evidence(signed_text, **members)
    return draft_refusal(
        "transaction", fault_name, variant, evidence, fault, _WHY, "RAIL-PAY-06",
        code="invalid_transaction", pinned_members=ALL_MEMBERS if pins else CODES, pins=pins,
    )  # fmt: skip


def _change_payment(change: Callable[[dict[str, Any]], None]) -> str:
    """Return the signed payment with its members changed afterwards."""
    members = wallet.parts(wallet.sign(wallet.transfer()))
    change(members)
    return wallet.repack(members)


def _signatures() -> Iterator[Draft]:
    transfer = wallet.transfer()
    bare = base64.b64decode(encoding.msgpack_encode(transfer))
    key = SigningKey(draw("algorand payer"))

    def flip(members: dict[str, Any]) -> None:
        members["sig"] = bytes([members["sig"][0] ^ 1]) + members["sig"][1:]

    yield _draft_broken("signature", "bit", _change_payment(flip), "a bit of the signature is flipped")
    by_other = wallet.parts(wallet.sign(transfer, STRANGER))
    del by_other["sgnr"]
    yield _draft_broken("signature", "by-another", wallet.repack(by_other), "another account's key has signed")
    without = _change_payment(lambda members: members.update(sig=key.sign(bare).signature))
    yield _draft_broken(
        "signature", "without-prefix", without, "the signature is over the bytes without TX before them"
    )
    unsigned_text = _change_payment(lambda members: members.pop("sig"))
    yield _draft_broken("signature-lack", "none", unsigned_text, "it is not signed")
    yield _draft_broken(
        "signature-lack", "empty", _change_payment(lambda members: members.update(sig=b"")), "the signature is empty"
    )
    claimed_signer = {"sgnr": encoding.decode_address(STRANGER.address)}
    authorized_text = _change_payment(lambda members: members.update(claimed_signer))
    members = wallet.parts(authorized_text)
    ordered_text = wallet.repack({name: members[name] for name in sorted(members)})
    fault = "it names the account that it was rekeyed to, and the sender's old key has signed"
    yield _draft_broken("authorizer", "old-key", ordered_text, fault)


def _altered_drafts() -> Iterator[Draft]:
    """The other transaction's signature under the one that pays."""
    cases = (
        ("receiver", {"receiver": STRANGER.address}, "the receiver was changed after it was signed"),
        ("amount", {"amt": PRICE // 10}, "the amount was changed after it was signed"),
        ("note", {"note": b"thanks"}, "the note was changed after it was signed"),
    )
    for variant, change, fault in cases:
        signature = wallet.parts(wallet.sign(wallet.transfer(**change)))["sig"]
        signed_text = wallet.repack({**wallet.parts(wallet.sign(wallet.transfer())), "sig": signature})
        yield _draft_broken("altered", variant, signed_text, fault)


def _encodings() -> Iterator[Draft]:
    """True signatures over bytes that are not canonical: the node hashes what it would write itself."""
    key = SigningKey(draw("algorand payer"))
    transfer = wallet.transfer()
    members = wallet.parts(wallet.sign(transfer))["txn"]

    def attach(encoded_transaction: bytes) -> str:
        signature = msgpack.packb({"sig": key.sign(b"TX" + encoded_transaction).signature}, use_bin_type=True)
        return base64.b64encode(b"\x82" + signature[1:] + b"\xa3txn" + encoded_transaction).decode("ascii")

    def pack(new_members: dict[str, Any]) -> bytes:
        return bytes(msgpack.packb(new_members, use_bin_type=True))

    plain = pack(members)
    cases = (
        ("order", "reversed", pack(dict(reversed(members.items()))), "its members are in another order"),
        ("empty", "zero", pack(dict(sorted({**members, "fee": 0}.items()))), "a fee of zero is spelled out"),
        ("empty", "lease", pack(dict(sorted({**members, "lx": bytes(32)}.items()))), "an empty lease is spelled out"),
        ("width", "amount", plain.replace(b"\xa4aamt\xcd\x27\x10", b"\xa4aamt\xce\x00\x00\x27\x10"),
         "the amount is written wider than it needs"),
        ("width", "note", plain.replace(b"\xa4note\xc4\x5c", b"\xa4note\xc5\x00\x5c"),
         "the note's length is written wider than it needs"),
        ("types", "amount-as-float", pack({**members, "aamt": float(PRICE)}), "the amount is a binary fraction"),
        ("types", "amount-as-text", pack({**members, "aamt": str(PRICE)}), "the amount is a text"),
        ("address", "short", pack(dict(sorted({**members, "rekey": b"r" * 31}.items()))),
         "the address that it rekeys to has 31 bytes"),
        ("types", "note-as-text", pack({**members, "note": members["note"].decode()}),
         "the note is a text, not bytes"),
    )  # fmt: skip
    for fault_name, variant, encoded_transaction, fault in cases:
        yield _draft_broken(f"encoding-{fault_name}", variant, attach(encoded_transaction), fault)
    unknown = attach(pack({**members, "zzz": 1}))
    yield _draft_broken("encoding-members", "unknown", unknown, "it has a member that no transaction has")
    raw = base64.b64decode(attach(plain))
    longer = base64.b64encode(raw + b"\x00").decode("ascii")
    yield _draft_broken("encoding-end", "byte-more", longer, "there is a byte after the transaction")
    shorter = base64.b64encode(raw[:-1]).decode("ascii")
    yield _draft_broken("encoding-end", "byte-less", shorter, "the transaction ends a byte early")


def _multisig_drafts() -> Iterator[Draft]:
    _, few = shared_payment(3, 2)
    yield _draft_broken("multisig", "too-few", few, "two have signed, three must")
    _, enough = shared_payment(2, 2)
    members = wallet.parts(enough)
    signatures = members["msig"]["subsig"]
    signatures[0]["s"], signatures[1]["s"] = signatures[1]["s"], signatures[0]["s"]
    yield _draft_broken("multisig", "swapped", wallet.repack(members), "two signatures stand under each other's key")
    members = wallet.parts(enough)
    members["msig"]["thr"] = 1
    fault = "the threshold is lowered, so that it is another account's"
    yield _draft_broken("multisig", "threshold", wallet.repack(members), fault)


def _programs() -> Iterator[Draft]:
    own, other_program = transaction.LogicSigAccount(PROGRAM), transaction.LogicSigAccount(PROGRAM + b"\x48\x81\x01")
    transfer = wallet.transfer(sender=own.address())
    members = wallet.parts(str(encoding.msgpack_encode(transaction.LogicSigTransaction(transfer, own))))
    members["lsig"]["l"] = other_program.lsig.logic
    yield _draft_broken("logic", "other-program", wallet.repack(members), "the program is not the one of that account")
    payer_transfer = wallet.transfer()
    PAYER.delegate(own)
    members = wallet.parts(str(encoding.msgpack_encode(transaction.LogicSigTransaction(payer_transfer, own))))
    members["lsig"]["l"] = other_program.lsig.logic
    fault = "the account has signed another program than the one that runs"
    yield _draft_broken("logic", "delegated-other", wallet.repack(members), fault)
    members = wallet.parts(str(encoding.msgpack_encode(transaction.LogicSigTransaction(payer_transfer, own))))
    del members["lsig"]["sig"]
    yield _draft_broken("logic", "not-delegated", wallet.repack(members), "the account has not signed the program")


def _misplaced_drafts() -> Iterator[Draft]:
    """True signatures; the chain or the reported block cannot hold the transaction."""
    test = wallet.sign(wallet.transfer(sp=wallet.params(wallet.TEST_GENESIS)))
    yield _draft_broken("network", "test", test, "it is for the test network: its genesis hash is another")
    nameless_transfer = wallet.transfer()
    nameless_transfer.genesis_hash = None
    yield _draft_broken("network", "unnamed", wallet.sign(nameless_transfer), "it names no genesis hash")
    for variant, number in (("before", wallet.ROUND - 101), ("after", wallet.ROUND + 901)):
        block = {"round": number, "time": wallet.build_evidence("")["block"]["time"]}
        signed_text = wallet.sign(wallet.transfer())
        fault = f"the round it is said to be in is {variant} those it is valid in"
        yield _draft_broken("round", variant, signed_text, fault, pins=_REPORT_PIN, block=block)
    first, second = wallet.transfer(), transaction.PaymentTxn(SPONSOR.address, wallet.params(), SPONSOR.address, 0)
    group = wallet.sign_group(first, second, signers=(PAYER, SPONSOR))
    other_text = wallet.sign(transaction.PaymentTxn(SPONSOR.address, wallet.params(), PAYER.address, 0), SPONSOR)
    fault = "a transaction of the group is another"
    yield _draft_broken("group", "other-member", group[0], fault, pins=_REPORT_PIN, group_b64=[group[0], other_text])
    fault = "the group is in another order"
    yield _draft_broken("group", "reordered", group[0], fault, pins=_REPORT_PIN, group_b64=group[::-1])
    apart = wallet.sign(wallet.transfer(sp=wallet.params(fee=2000)))
    fault = "it is not in the group it is shown with"
    yield _draft_broken("group", "not-in-it", apart, fault, pins=_REPORT_PIN, group_b64=group)
