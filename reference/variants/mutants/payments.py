"""Mutants of the weld and of what a chain shows: each drops one rule of specification 5.5 or 5.7."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from reference.lanes.algorand import lane as algorand_lane
from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.lane import ChainUnavailable
from reference.protocol import weld
from reference.protocol.observed import ObservedTransaction, Transfer, TxStatus
from reference.rail.collecting import MinedPaymentSource
from reference.rail.settlement import SettlingPaymentSource
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import Rule, replace, replace_rule


def _rule(rule: Rule, other: Rule) -> Callable[[], None]:
    return lambda: replace_rule(weld, rule, other)


def _always(*_: object) -> bool:
    return True


def _note_starts_with_token(_: Transfer, claim: weld.Claim) -> bool:
    return claim.seen.note.startswith(claim.token.text.encode())


def _note_holds_token(_: Transfer, claim: weld.Claim) -> bool:
    return claim.token.text.encode() in claim.seen.note


def _note_is_token_in_any_case(_: Transfer, claim: weld.Claim) -> bool:
    return claim.seen.note.lower() == claim.token.text.encode()


def _note_is_token_but_for_space(_: Transfer, claim: weld.Claim) -> bool:
    return claim.seen.note.strip() == claim.token.text.encode()


def _note_is_some_token(_: Transfer, claim: weld.Claim) -> bool:
    return claim.seen.note.count(b":") == 2 and claim.seen.note[:10].isdigit()


def _almost_enough(transfer: Transfer, claim: weld.Claim) -> bool:
    return transfer.value >= int(claim.terms.amount) - 1


def close_out_counts() -> None:
    """What a close-out moved is added to the plain amount."""

    def adding(from_algod: Callable[..., Any]) -> Callable[..., Any]:
        async def seen(self: AlgorandLane, pending: Any) -> ObservedTransaction:
            found: ObservedTransaction = await from_algod(self, pending)
            closed = pending.get("asset-closing-amount", 0)
            return dataclasses.replace(
                found, transfers=tuple(dataclasses.replace(one, value=one.value + closed) for one in found.transfers)
            )

        return seen

    replace(AlgorandLane, "_from_algod", adding)


def _pending_is_final(claim: weld.Claim) -> bool:
    return claim.seen.status in {TxStatus.PENDING, TxStatus.CONFIRMED}


def _pending_counts() -> None:
    replace_rule(weld, weld.is_final, _pending_is_final)
    replace_rule(weld, weld.is_not_older, _always)

    def impatient(_: Callable[..., Any]) -> Callable[..., Any]:
        async def seen(self: MinedPaymentSource, tx_id: str) -> Any:
            return await self.lane.observe(tx_id)

        return seen

    replace(MinedPaymentSource, "seen", impatient)


def _failed_counts() -> None:
    def lenient(rule: Rule) -> Rule:
        return lambda claim: claim.seen.status is TxStatus.FAILED or rule(claim)

    for rule in (weld.has_not_failed, weld.is_final, weld.is_not_older):
        replace_rule(weld, rule, lenient(rule))


def _absent_counts() -> None:
    def credulous(judge: Callable[..., Any]) -> Callable[..., Any]:
        def judged(rules: Any, claim: weld.Claim, tx_id: str) -> Any:
            return weld.Payment("", tx_id) if claim.seen.status is TxStatus.ABSENT else judge(rules, claim, tx_id)

        return judged

    replace(weld, "judge", credulous)


def _outage_serves() -> None:
    def open_handed(collect: Callable[..., Any]) -> Callable[..., Any]:
        async def paid(self: Any, presented: Any, claim: Any) -> Any:
            try:
                return await collect(self, presented, claim)
            except ChainUnavailable:
                return weld.Payment("", presented.tx_id)

        return paid

    for kind in (MinedPaymentSource, SettlingPaymentSource):
        replace(kind, "collect", open_handed)


def _noteless_is_an_outage() -> None:
    def strict(read: Callable[..., bytes]) -> Callable[..., bytes]:
        def note(value: object) -> bytes:
            if value is None:
                raise ChainUnavailable("the transaction has no note")
            return read(value)

        return note

    replace(algorand_lane, "_bytes", strict)


MUTANTS = (
    Mutant("note-ignored", "the note is the token (5.5, Algorand)", _rule(weld.note_is_token, _always)),
    Mutant(
        "note-prefix", "the note is the token and nothing after it", _rule(weld.note_is_token, _note_starts_with_token)
    ),
    Mutant(
        "note-contains", "the note is the token and nothing around it", _rule(weld.note_is_token, _note_holds_token)
    ),
    Mutant(
        "note-any-case", "the note is the token letter by letter", _rule(weld.note_is_token, _note_is_token_in_any_case)
    ),
    Mutant(
        "note-trimmed",
        "the note is the token without white space",
        _rule(weld.note_is_token, _note_is_token_but_for_space),
    ),
    Mutant(
        "note-any-token",
        "the note is this challenge's token, not another's",
        _rule(weld.note_is_token, _note_is_some_token),
    ),
    Mutant("recipient-ignored", "the receiver is payTo", _rule(weld.is_to_payee, _always)),
    Mutant("asset-ignored", "the asset is the one asked for, by id", _rule(weld.is_right_asset, _always)),
    Mutant("amount-ignored", "the amount reaches the price", _rule(weld.is_enough, _always)),
    Mutant("amount-one-short", "the amount reaches the whole price", _rule(weld.is_enough, _almost_enough)),
    Mutant("close-out-counts", "the plain amount alone reaches the price (P-LN-09)", close_out_counts),
    Mutant("clawback-counts", "the transfer is no clawback (P-LN-09)", _rule(weld.is_plain_transfer, _always)),
    Mutant("pending-counts", "the transaction is in a block", _pending_counts),
    Mutant(
        "late-payment-counts", "the payment was made within the lifetime (P-ST-01)", _rule(weld.is_not_later, _always)
    ),
    Mutant("failed-counts", "the transaction did not fail", _failed_counts),
    Mutant("unknown-counts", "the chain knows the transaction", _absent_counts),
    Mutant("noteless-is-an-outage", "a refused payment answers 402 (5.7)", _noteless_is_an_outage),
    Mutant("outage-serves", "a chain that cannot be asked serves nobody (P-ER-03)", _outage_serves),
)
