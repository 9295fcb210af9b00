"""Settlements that do not count, of authorizations that are right: the transaction, its outcome, or its logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import rlp
from eth_utils.crypto import keccak

from conformance.lanes.base.authorization import ORDER
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import base_wallet as wallet
from tools.vectors_builder.welds.base_wallet import PAYEE, PAYER, STRANGER, TEST_USDC, log, transfer_log, used
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, CODES, PRICE, draft_refusal, draw

_WHAT_COUNTS: Final = ("profile 5.5 P-LN-03",)
_ADJACENT: Final = ("profile 5.5 P-LN-03", "profile 5.5 P-LN-10")


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _transactions()
    yield from _outcomes()
    yield from _missing_drafts()
    yield from _of_others()
    yield from _between()


def _build_evidence(settlement: dict[str, Any]) -> dict[str, Any]:
    return wallet.build_evidence(wallet.sign(), settlement=settlement)


def _raw(**changes: Any) -> bytes:
    return wallet.sign_transaction(wallet.call(wallet.sign()), **changes)


def _draft_broken(fault_name: str, variant: str, raw: bytes, fault: str, **receipt: Any) -> Draft:
    evidence = _build_evidence(wallet.settlement(raw, [used(), transfer_log()], **receipt))
    why = "who judges a transaction that he was handed must not take what a node would refuse"
    code = "invalid_transaction"
    return draft_refusal("transaction", fault_name, variant, evidence, fault, why, "RAIL-PAY-06", code=code)


def _spoilt(raw: bytes, place: int, value: bytes) -> bytes:
    """Return a transaction of type 2 with one member replaced after it was signed."""
    members: list[Any] = list(rlp.decode(raw[1:]))
    members[place] = value
    return raw[:1] + bytes(rlp.encode(members))


def _transactions() -> Iterator[Draft]:
    raw = _raw()
    members: Sequence[Any] = rlp.decode(raw[1:])
    high = _spoilt(raw, 11, (ORDER - int.from_bytes(members[11], "big")).to_bytes(32, "big"))
    yield _draft_broken("settling-signature", "zero-r", _spoilt(raw, 10, b""), "r is zero")
    yield _draft_broken(
        "settling-signature", "order", _spoilt(raw, 11, ORDER.to_bytes(32, "big")), "s is the curve's order"
    )
    yield _draft_broken("settling-signature", "parity", _spoilt(raw, 9, b"\x02"), "the parity is 2")
    yield _draft_broken("high-s", "type-2", high, "s is the order less s (EIP-2)")
    yield _draft_broken("settling-form", "byte-more", raw + b"\x00", "there is a byte after the transaction")
    yield _draft_broken("settling-form", "byte-less", raw[:-1], "the transaction ends a byte early")
    yield _draft_broken("settling-form", "type", b"\x7f" + raw[1:], "it is of a type that there is not")
    yield _draft_broken("settling-members", "unsigned", raw[:1] + rlp.encode(members[:9]), "it is not signed")
    yield _draft_broken(
        "settling-members", "leading-zero", _spoilt(raw, 1, b"\x00\x07"), "its nonce has a leading zero"
    )
    yield _draft_broken("chain", "sepolia", _raw(chain_id=84532), "it is for the test network")
    yield _draft_broken("chain", "legacy-ethereum", _raw(chain_id=1, kind=0), "it is a legacy one for Ethereum")
    other_hash = "0x" + keccak(_raw(kind=1)).hex()
    yield _draft_broken("hash", "another", raw, "the receipt is of another transaction", transactionHash=other_hash)


def _outcomes() -> Iterator[Draft]:
    raw = _raw()
    why = "a transaction that was reverted has moved nothing, whatever is said of its logs"
    evidence = _build_evidence(wallet.settlement(raw, [], status="0x0"))
    fault = "it was mined and reverted"
    yield draft_refusal("outcome", "reverted", "no-logs", evidence, fault, why, "RAIL-PAY-11", code="settlement_failed")
    evidence = _build_evidence(wallet.settlement(raw, [used(), transfer_log()], status="0x0"))
    fault = "it was mined and reverted, and logs are told all the same"
    yield draft_refusal(
        "outcome", "reverted", "with-logs", evidence, fault, why, "RAIL-PAY-11", code="settlement_failed"
    )
    why = "a block that has just come may go again"
    for variant, depth in (("head", 1), ("one-behind", 2)):
        evidence = _build_evidence(wallet.settlement(raw, [used(), transfer_log()], depth=depth))
        fault = f"its block has {depth} of three confirmations"
        yield draft_refusal(
            "finality", "depth", variant, evidence, fault, why, "RAIL-PAY-07",
            code="tx_not_confirmed", pinned_members=ALL_MEMBERS, pins=("profile 1.2",),
        )  # fmt: skip


def _unpaid(
    fault_name: str,
    variant: str,
    logs: Sequence[dict[str, Any]],
    fault: str,
    why: str,
    pins: tuple[str, ...] = (),
    raw: bytes | None = None,
) -> Draft:
    evidence = _build_evidence(wallet.settlement(_raw() if raw is None else raw, logs))
    return draft_refusal(
        "settlement", fault_name, variant, evidence, fault, why, "RAIL-PAY-14",
        code="authorization_used", pinned_members=ALL_MEMBERS if pins else CODES, pins=pins,
    )  # fmt: skip


def _missing_drafts() -> Iterator[Draft]:
    why = "that a transaction succeeded does not say what it did"
    other_nonce = draw("another nonce")
    yield _unpaid("lack", "no-logs", [], "it has no logs", why)
    yield _unpaid("lack", "no-transfer", [used()], "the authorization was used and nothing moved", why)
    yield _unpaid("lack", "no-use", [transfer_log()], "money moved and no authorization was used", why, _WHAT_COUNTS)
    cancelled_log = log("AuthorizationCanceled(address,bytes32)", PAYER.address, wallet.sign().nonce.hex())
    fault = "the authorization was cancelled"
    yield _unpaid("cancelled", "alone", [cancelled_log], fault, why)
    yield _unpaid(
        "cancelled", "and-transfer", [cancelled_log, transfer_log()], fault + ", and money moved", why, _WHAT_COUNTS
    )
    yield _unpaid(
        "use",
        "of-another-nonce",
        [used(nonce=other_nonce), transfer_log()],
        "another nonce was used",
        why,
        _WHAT_COUNTS,
    )
    fault = "somebody else's authorization was used"
    yield _unpaid("use", "by-another", [used(STRANGER.address), transfer_log()], fault, why, _WHAT_COUNTS)
    fault = "another contract says that the authorization was used"
    yield _unpaid("use", "of-another-contract", [used(contract=TEST_USDC), transfer_log()], fault, why, _WHAT_COUNTS)


def _of_others() -> Iterator[Draft]:
    why = "what moved is what the log says: asset, from, to, value"
    own = used()
    cases: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("transfer", "to-another", transfer_log(to=STRANGER.address), "the money went to somebody else"),
        ("transfer", "to-himself", transfer_log(to=PAYER.address), "the money went back to the payer"),
        ("transfer", "from-another", transfer_log(sender=STRANGER.address), "somebody else's money moved"),
        ("transfer-value", "one-less", transfer_log(value=PRICE - 1), "one unit less moved"),
        ("transfer-value", "one-more", transfer_log(value=PRICE + 1), "one unit more moved"),
        ("transfer-value", "zero", transfer_log(value=0), "nothing moved"),
        ("transfer-contract", "another", transfer_log(contract=TEST_USDC), "another contract's token moved"),
        ("transfer-contract", "settler", transfer_log(contract=STRANGER.address), "a contract of somebody's says so"),
    )
    for fault_name, variant, event, fault in cases:
        yield _unpaid(fault_name, variant, [own, event], fault, why)
    data = {**transfer_log(), "data": "0x"}
    yield _unpaid("event", "no-value", [own, data], "the Transfer has no value", why)
    indexed_log = {**transfer_log(), "topics": [*transfer_log()["topics"], f"0x{PRICE:064x}"], "data": "0x"}
    yield _unpaid(
        "event", "indexed-value", [own, indexed_log], "the value is indexed, as of a thing that is one of its kind", why
    )
    approval_log = log("Approval(address,address,uint256)", PAYER.address, PAYEE.address, data=f"0x{PRICE:064x}")
    yield _unpaid("event", "approval", [own, approval_log], "the price was approved, not moved", why)


def _between() -> Iterator[Draft]:
    """Right logs that do not belong together: the transfer is not the log directly after the use."""
    other_nonce, vault = draw("another nonce"), wallet.sign_transaction(b"\x01", to=STRANGER.address)
    why = "one transfer settles one authorization, the one it directly follows"
    himself = transfer_log(to=PAYER.address)
    cases = (
        ("self-authorization", "then-transfer", [used(), himself, transfer_log()],
         "the payer paid himself by the authorization, and the payee by an unrelated transfer"),
        ("self-authorization", "transfer-before", [transfer_log(), used(), himself],
         "an unrelated transfer to the payee stands before the use"),
        ("batch", "earlier-of-two", [used(), used(nonce=other_nonce), transfer_log()],
         "two authorizations were used before the one transfer, and the other is nearer to it"),
        ("batch", "first-of-three", [used(), used(nonce=other_nonce), used(nonce=draw("third")), transfer_log()],
         "three authorizations were used before the one transfer"),
        ("batch", "other-settled", [used(nonce=other_nonce), transfer_log(), used(), himself],
         "the transfer to the payee follows another authorization"),
        ("order", "transfer-first", [transfer_log(), used()], "the transfer stands before the use"),
        ("order", "approval-between", [used(), log("Approval(address,address,uint256)", PAYER.address, PAYEE.address,
                                                   data=f"0x{PRICE:064x}"), transfer_log()],
         "another log stands between use and transfer"),
        ("parts", "halves", [used(), transfer_log(value=PRICE // 2), transfer_log(value=PRICE // 2)],
         "the price moved in two halves"),
    )  # fmt: skip
    for fault_name, variant, logs, fault in cases:
        yield _unpaid(fault_name, variant, logs, fault, why, _ADJACENT, raw=vault)
