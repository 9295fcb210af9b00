"""Mutants of the Solana lane: each drops one rule of specification 5.5 or P-LN-06."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as changed
from typing import Any

import base58

from reference.lanes.solana import lane
from reference.lanes.solana.lane import SolanaLane
from reference.protocol import solana_transfers, weld
from reference.protocol.observed import ObservedTransaction, Transfer
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace, replace_rule


def _always(*_: object) -> bool:
    return True


def _any_reference(transfer: Transfer, claim: weld.Claim) -> bool:
    del claim
    return bool(transfer.accounts)


def _reference_anywhere() -> None:
    """An account of any instruction counts as the transfer's, wherever it stands."""
    replace_rule(weld, weld.names_no_other_before, _always)

    def generous(transfers: Callable[..., Any]) -> Callable[..., Any]:
        def found(raw: bytes, loaded: Sequence[str]) -> tuple[Transfer, ...]:
            named = (*_keys(raw), *loaded)
            return tuple(changed(one, accounts=named) for one in transfers(raw, loaded))

        return found

    replace(solana_transfers, "transfers", generous)


def _keys(raw: bytes) -> tuple[str, ...]:
    return tuple(map(str, solana_transfers._decoded(raw).message.account_keys))  # noqa: SLF001 - a mutant reaches in


def _mint_ignored() -> None:
    """A transfer of any mint counts, into the payee's account for that mint."""

    def careless(_: Callable[..., Any]) -> Callable[..., Any]:
        def judge(self: SolanaLane, seen: Any, terms: Any, token: Any, tx_id: str, ttl: int) -> weld.Payment:
            mint = seen.transfers[0].asset if seen.transfers else terms.asset
            destination = solana_transfers.associated_account(terms.pay_to, mint or terms.asset)
            claim = weld.Claim(seen, terms, token, ttl, destination, self.reference(token.text))
            return weld.judge(weld.REFERENCE_BINDING, claim, tx_id)

        return judge

    replace(SolanaLane, "judge", careless)
    replace_rule(weld, weld.is_right_asset, _always)


def _amounts_added() -> None:
    """Part payments are added up."""

    def adding(transfers: Callable[..., Any]) -> Callable[..., Any]:
        def found(raw: bytes, loaded: Sequence[str]) -> tuple[Transfer, ...]:
            parts = transfers(raw, loaded)
            return tuple(changed(one, value=sum(part.value for part in parts)) for one in parts)

        return found

    replace(solana_transfers, "transfers", adding)


Seen = tuple[Transfer, ...]


def _observed(change: Callable[[Seen, Mapping[str, Any], Sequence[str]], Seen]) -> Callable[[], None]:
    """Return what changes the transfers that a node shows, by what else it tells of the transaction."""

    def seeing(observed: Callable[..., Any]) -> Callable[..., Any]:
        async def observe(
            self: SolanaLane, found: Mapping[str, Any], tx_id: str, *, final: bool
        ) -> ObservedTransaction:
            seen: ObservedTransaction = await observed(self, found, tx_id, final=final)
            keys = [*_keys(_raw(found)), *_tables(found)]
            return changed(seen, transfers=change(seen.transfers, found["meta"], keys))

        return observe

    def apply() -> None:
        replace_rule(weld, weld.names_no_other_before, _always)  # of accounts that are not the transfer's own
        replace(SolanaLane, "_observed", seeing)

    return apply


def _raw(found: Mapping[str, Any]) -> bytes:
    return lane._raw(found)  # noqa: SLF001 - a mutant reaches in


def _tables(found: Mapping[str, Any]) -> list[str]:
    return lane._loaded(found["meta"])  # noqa: SLF001 - a mutant reaches in


def _owner_decides(transfers: Seen, meta: Mapping[str, Any], keys: Sequence[str]) -> Seen:
    """Whoever owns the destination in the end is taken for paid."""
    owners = {keys[one["accountIndex"]]: (one["owner"], one["mint"]) for one in meta["postTokenBalances"]}
    return tuple(
        changed(one, receiver=solana_transfers.associated_account(*owners[one.receiver]))
        if one.receiver in owners
        else one
        for one in transfers
    )


def _inside_calls(transfers: Seen, meta: Mapping[str, Any], keys: Sequence[str]) -> Seen:
    """What programs moved when they were called counts too, with the accounts of the call around it."""
    found = list(transfers)
    for group in meta["innerInstructions"]:
        for one in group["instructions"]:
            named = [keys[place] for place in one["accounts"]]
            transfer = solana_transfers._transfer(group["index"], base58.b58decode(one["data"]), named)  # noqa: SLF001 - same
            if transfer is not None and keys[one["programIdIndex"]] == solana_transfers.TOKEN_PROGRAM:
                found.append(changed(transfer, accounts=tuple(keys)))
    return tuple(found)


def _failed_counts() -> None:
    def blind(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def found(told: Any) -> Any:
            status = read(told)
            return None if status is None else {**status, "err": None}

        return found

    def as_if_good(observed: Callable[..., Any]) -> Callable[..., Any]:
        async def seen(self: SolanaLane, found: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
            return await observed(self, {**found, "meta": {**found["meta"], "err": None}}, *args, **kwargs)

        return seen

    replace(lane, "_status", blind)
    replace(SolanaLane, "_observed", as_if_good)


MUTANTS = (
    Mutant(
        "solana-reference-ignored",
        "the reference is an account of the transfer (5.5, Solana)",
        lambda: replace_rule(weld, weld.names_reference, _always),
    ),
    Mutant(
        "solana-any-reference",
        "the reference is this challenge's (5.5, Solana)",
        lambda: replace_rule(weld, weld.names_reference, _any_reference),
    ),
    Mutant(
        "solana-reference-anywhere", "the reference is in the transfer's own instruction (P-LN-06)", _reference_anywhere
    ),
    Mutant("solana-mint-ignored", "the transfer is of the asset's mint (5.5, Solana)", _mint_ignored),
    Mutant("solana-amounts-added", "one transfer reaches the price (5.5, Solana)", _amounts_added),
    Mutant(
        "solana-owner-decides",
        "the destination is derived, never read from balances (5.5, Solana)",
        _observed(_owner_decides),
    ),
    Mutant("solana-inner-counts", "the transfer is a top-level instruction (P-LN-06)", _observed(_inside_calls)),
    Mutant(
        "solana-call-beside-memo",
        "what pays a link whose memo is there buys no call (decision 0045)",
        lambda: replace_rule(weld, weld.is_for_a_call, _always),
    ),
    Mutant("solana-failed-counts", "the transaction did not fail (5.5, Solana)", _failed_counts),
)
