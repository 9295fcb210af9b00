"""`weldproof run PAYER -- COMMAND`: tests a payer in any language, with the suite as its rail, on simulated chains."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from conformance.cli.program_command import PAYER_ROWS
from conformance.cli.usage import UsageFault
from conformance.lanes.tested_payer_accounts import NO_STOCK_FORM, STOCK_LANES
from conformance.processes.own_stack import OwnStack, start_own_stack
from conformance.selftest.kill_lists import load_kill_lists
from conformance.target import LANES, Chains, PayerProgram, Profile
from conformance.vocabulary.profile_claims import PAYER_A2A, PAYER_CHECKOUT

_SURFACE: Final = "payer"
_REFERENCE: Final = "reference.variants.payer"
_MUTANTS: Final = "reference.variants.mutants"


def selects_only_payers(ids: Sequence[str]) -> bool:
    """Return whether the ids of a run name rows of payers and no others."""
    return bool(ids) and all(one.strip().upper().startswith(PAYER_ROWS) for one in ids)


def with_payer(profile: Profile | None, words: Sequence[str], lanes: Sequence[str], *, stock: bool = False) -> Profile:
    """Return a profile with a payer under test.

    Args:
        profile: The target, or None. A lane whose node it lacks gets a simulated chain.
        words: The payer's command; empty for that of the profile.
        lanes: The lanes of `--lane`; empty for those of the profile, or all.
        stock: Whether the payer is a stock x402 client, whatever the profile contains.

    Raises:
        UsageFault: There is no command, or a stock client is to pay on a lane without the stock form.
    """
    base = profile or Profile()
    if not words and base.payer.command is None:
        raise UsageFault(
            "a payer needs its command after --, or [payer] command: weldproof run PAYER -- python pay.py. "
            "--reference tests the built-in payer"
        )
    payer = base.payer.model_copy(update={"command": tuple(words)}) if words else base.payer
    # The report lists fields that were set, because a verdict may depend on them.
    payer.model_fields_set.add("command")
    claimed_lanes = tuple(lanes) or base.claims.lanes or LANES
    if stock or payer.stock:
        payer = payer.model_copy(update={"stock": True})
        foreign_lanes = [lane for lane in lanes if lane not in STOCK_LANES]
        if foreign_lanes:
            raise UsageFault(f"--lane {foreign_lanes[0]}: {NO_STOCK_FORM}")
        claimed_lanes = STOCK_LANES
    # Not the surfaces of the profile's server, which need not run: the suite is the rail. So the target is not called
    # by the server's name either.
    claimed = _claim(base, payer, (_SURFACE,), claimed_lanes)
    if "name" in base.target.model_fields_set and not base.surfaces:
        return claimed
    return claimed.model_copy(update={"target": base.target.model_copy(update={"name": "a payer"}), "surfaces": {}})


def _claim(profile: Profile, payer: PayerProgram, surfaces: Sequence[str], lanes: Sequence[str]) -> Profile:
    claims = profile.claims.model_copy(update={"surfaces": tuple(surfaces), "lanes": tuple(lanes)})
    return profile.model_copy(update={"claims": claims, "payer": payer})


def claim_reference_payer(profile: Profile, mutant: str | None = None) -> Profile:
    """Return the profile of the reference with its payer, or with a mutant of it, under test."""
    is_payer_mutant = mutant is not None and any(one.mutant == mutant and one.payer for one in load_kill_lists())
    words = (_MUTANTS, str(mutant), _REFERENCE) if is_payer_mutant else (_REFERENCE,)
    payer = PayerProgram(command=(sys.executable, "-m", *words))
    claimed = _claim(profile, payer, (*profile.claims.surfaces, _SURFACE), profile.claims.lanes)
    claims = claimed.claims.model_copy(update={"options": (*claimed.claims.options, PAYER_CHECKOUT, PAYER_A2A)})
    return claimed.model_copy(update={"claims": claims})


@asynccontextmanager
async def open_payer_chains(lanes: Sequence[str]) -> AsyncIterator[Chains]:
    """Start simulated chains for a payer under test alone, and yield their nodes; none without lanes.

    With nodes that nothing else uses, payers run while other checks stop the reference's chains or move its clock.
    """
    if not lanes:
        yield Chains()
        return
    async with _start_chains(lanes) as stack:
        yield stack.profile.chains


def with_payer_chains(profile: Profile, chains: Chains) -> Profile:
    """Return the profile with nodes for its payer alone."""
    payer = profile.payer.model_copy(update={"chains": chains})
    # A reference without a rail and a gateway has no lanes.
    lanes = profile.claims.lanes or tuple(lane for lane in LANES if chains.of(lane) is not None)
    return _claim(profile, payer, profile.claims.surfaces, lanes)


@asynccontextmanager
async def with_chains(profile: Profile) -> AsyncIterator[Profile]:
    """Yield the profile with a simulated chain for each claimed lane that has no node, until the context ends."""
    missing = [] if profile.payer.command is None else _lanes_without_node(profile)
    if not missing or _SURFACE not in profile.claims.surfaces:
        yield profile
        return
    async with _start_chains(missing) as stack:
        nodes = {lane: profile.chains.of(lane) or stack.profile.chains.of(lane) for lane in LANES}
        yield profile.model_copy(update={"chains": Chains.model_validate(nodes)})


def _start_chains(lanes: Sequence[str]) -> AbstractAsyncContextManager[OwnStack]:
    return start_own_stack(("--chains-only", *(word for lane in lanes for word in ("--lane", lane))))


def _lanes_without_node(profile: Profile) -> list[str]:
    return [lane for lane in profile.claims.lanes if profile.payer_chains.of(lane) is None]
