"""GW-LINK-21 and -22: members of a wrong type, and unknown networks."""

from __future__ import annotations

from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.surfaces.gateway.calls import (
    LINKS,
    Creation,
    create_link,
    is_refused,
    link_body,
    name_live_values,
    post,
    short,
    target_of,
)

WRONG_TYPES: tuple[Any, ...] = (5, 1.5, True, False, ["x"], [], {"x": "y"}, {})
UNKNOWN_NETWORKS = (
    "atlantis_testnet",
    "atlantis_mainnet",
    "algorand_atlantis",
    "base_atlantis",
    "solana_atlantis",
    # Near misses of real names: a server that compares only letters, or a prefix, accepts them.
    "algorandtestnet_",
    "no such network",
)


async def _judge_refusals(case: Case, row: str, member: str, values: tuple[Any, ...]) -> None:
    tenant = case.session.tenants.get()
    answers = await run_concurrently(
        post(target_of(case), Creation(LINKS, link_body(case, tenant, **{member: value}), tenant)) for value in values
    )
    for value, answer in zip(values, answers, strict=True):
        finding = f"{answer.status} {short(name_live_values(case, answer))}"
        where = {member: repr(value)}
        case.expect(row, is_refused(answer), "a client error", finding, exchange=answer, where=where)


@check(
    "GW-LINK-21",
    surface="gateway",
    fix="Check the type of every member that the interface names before using it; never turn a number into a text.",
)
async def texts_are_texts(case: Case) -> None:
    """A non-string `currency`, `label` or `preferred_network` is rejected.

    Puts numbers, booleans, arrays and objects in the place of each of the three, in a creation that is valid in all
    other members. Expects a client error.
    """
    await create_link(case)
    for member in ("currency", "label", "preferred_network"):
        await _judge_refusals(case, "GW-LINK-21", member, WRONG_TYPES)


@check(
    "GW-LINK-22",
    surface="gateway",
    fix="Look preferred_network up in the table of offered networks. Refuse an unknown network, without a fall-back.",
)
async def an_unknown_network_is_refused(case: Case) -> None:
    """An unknown `preferred_network` value is rejected rather than silently replaced.

    Asks for networks that do not exist: of unknown chains, and unknown networks of known chains. Expects a client
    error.
    """
    await create_link(case)
    await _judge_refusals(case, "GW-LINK-22", "preferred_network", UNKNOWN_NETWORKS)
