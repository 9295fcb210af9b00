"""Mutants that serve a bare transfer and refuse honest payments of another shape (P-LN-09, P-LN-11)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace as changed
from typing import Any

from solders.message import Message

from reference.lanes.algorand import lane as algorand_lane
from reference.lanes.base.lane import BaseLane
from reference.lanes.solana import lane as solana_lane
from reference.protocol import solana_transfers
from reference.protocol.observed import ObservedTransaction, Transfer, TxStatus
from reference.protocol.solana_transfers import ASSOCIATED_PROGRAM, MEMO_PROGRAMS, TOKEN_PROGRAM
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

_BUDGET_PROGRAM = "ComputeBudget111111111111111111111111111111"
# The most that an early version of x402's own rule took.
_MOST_INSTRUCTIONS = 6

Choose = Callable[[Any, Sequence[str], tuple[Transfer, ...]], Collection[Transfer]]


def _transfers(choose: Choose) -> Callable[[], None]:
    """Return what lets a part of a transaction's transfers count, by its message and the programs that it calls."""

    def choosing(transfers: Callable[..., Any]) -> Callable[..., Any]:
        def found(raw: bytes, loaded: Sequence[str]) -> tuple[Transfer, ...]:
            message = solana_transfers._decoded(raw).message  # noqa: SLF001 - a mutant reaches in
            keys = solana_transfers.accounts(raw, loaded)
            called = [keys[one.program_id_index] for one in message.instructions]
            return tuple(choose(message, called, transfers(raw, loaded)))

        return found

    return lambda: replace(solana_transfers, "transfers", choosing)


def _at_place(place: int) -> Choose:
    return lambda _, called, transfers: [one for one in transfers if one.ordinal == place % len(called)]


def _among_the_first_two(_: Any, __: Sequence[str], transfers: tuple[Transfer, ...]) -> Collection[Transfer]:
    return [one for one in transfers if one.ordinal < 2]


def _few(_: Any, called: Sequence[str], transfers: tuple[Transfer, ...]) -> Collection[Transfer]:
    return transfers if len(called) <= _MOST_INSTRUCTIONS else ()


def _known(_: Any, called: Sequence[str], transfers: tuple[Transfer, ...]) -> Collection[Transfer]:
    known = {TOKEN_PROGRAM, ASSOCIATED_PROGRAM, _BUDGET_PROGRAM, *MEMO_PROGRAMS}
    return transfers if known.issuperset(called) else ()


def _before_memos(_: Any, called: Sequence[str], transfers: tuple[Transfer, ...]) -> Collection[Transfer]:
    return [one for one in transfers if not MEMO_PROGRAMS.intersection(called[: one.ordinal])]


def _after_memos(_: Any, called: Sequence[str], transfers: tuple[Transfer, ...]) -> Collection[Transfer]:
    return [one for one in transfers if not MEMO_PROGRAMS.intersection(called[one.ordinal :])]


def _versioned(message: Any, _: Sequence[str], transfers: tuple[Transfer, ...]) -> Collection[Transfer]:
    return () if isinstance(message, Message) else transfers


def _static_keys() -> None:
    replace(solana_transfers, "transfers", lambda transfers: lambda raw, loaded: transfers(raw, loaded[:0]))


def _readonly_first() -> None:
    def reversed_halves(loaded: Callable[..., Any]) -> Callable[..., Any]:
        def found(meta: Mapping[str, Any]) -> list[str]:
            halves = [{"loadedAddresses": {name: meta["loadedAddresses"][name]}} for name in ("readonly", "writable")]
            return [one for half in halves for one in loaded(half)]

        return found

    replace(solana_lane, "_loaded", reversed_halves)


def _group_refused() -> None:
    def alone(seen: Callable[..., Any]) -> Callable[..., Any]:
        def read(status: TxStatus, block_time: int, transaction: Mapping[str, Any]) -> ObservedTransaction:
            found: ObservedTransaction = seen(status, block_time, transaction)
            return changed(found, transfers=()) if transaction.get("grp") else found

        return read

    replace(algorand_lane, "_seen", alone)


def _payer_submits() -> None:
    def by_the_payer(observe: Callable[..., Any]) -> Callable[..., Any]:
        async def observed(self: BaseLane, *given: Any, **named: Any) -> ObservedTransaction:
            found: ObservedTransaction = await observe(self, *given, **named)
            own = [one for one in found.authorizations_used if one.authorizer.lower() == found.sender.lower()]
            return changed(found, authorizations_used=tuple(own))

        return observed

    replace(BaseLane, "observe", by_the_payer)


MUTANTS = (
    Mutant("group-refused", "a transfer in a group counts (P-LN-09)", _group_refused),
    Mutant("checkout-group-refused", "a transfer in a group counts (P-LN-09)", _group_refused, "gateway"),
    Mutant("checkout-payer-submits", "anybody may submit the payer's authorization (3.5)", _payer_submits, "gateway"),
    Mutant("solana-first-instruction", "the transfer may be any instruction (P-LN-11)", _transfers(_at_place(0))),
    Mutant("solana-last-instruction", "the transfer may be any instruction (P-LN-11)", _transfers(_at_place(-1))),
    Mutant("solana-few-instructions", "any number of instructions may be around it (P-LN-11)", _transfers(_few)),
    Mutant("solana-known-programs", "other programs' instructions hinder nothing (P-LN-11)", _transfers(_known)),
    Mutant("solana-memo-after", "a memo may be before the transfer (P-LN-11)", _transfers(_before_memos)),
    Mutant("solana-memo-before", "a memo may be after the transfer (P-LN-11)", _transfers(_after_memos)),
    Mutant("solana-versioned-only", "a legacy transaction pays, too (P-LN-11)", _transfers(_versioned)),
    Mutant("solana-static-keys", "accounts may come from lookup tables (P-LN-06)", _static_keys),
    Mutant("solana-readonly-first", "loaded accounts are the writable ones first (P-LN-06)", _readonly_first),
    Mutant(
        "checkout-first-instructions",
        "memo and transfer may be any instructions (P-LN-11)",
        _transfers(_among_the_first_two),
        "gateway",
    ),
    Mutant("checkout-memo-before", "the memo may be after the transfer (P-LN-11)", _transfers(_after_memos), "gateway"),
    Mutant(
        "checkout-few-instructions",
        "any number of instructions may be around it (P-LN-11)",
        _transfers(_few),
        "gateway",
    ),
    Mutant(
        "checkout-known-programs",
        "other programs' instructions hinder nothing (P-LN-11)",
        _transfers(_known),
        "gateway",
    ),
    Mutant("checkout-static-keys", "accounts may come from lookup tables (P-LN-06)", _static_keys, "gateway"),
)
