"""RAIL-LANE-06: lanes whose nodes are away, where the target claims the specification (P-CH-03, 5.10)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

from conformance.assertions.rail.specified_refusals import find_error_faults
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.lanes.node_control import Controlled
from conformance.oracles.member_rules import Rule, equals, find_member_faults, is_an
from conformance.outcome import Inconclusive
from conformance.surfaces import json_rpc
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.limited_rail import LimitedRail, limited_rail
from conformance.surfaces.rail.unpaid_answers import entries

ROW: Final = "RAIL-LANE-06"
_FAULT = "unavailable"
_CALLS = 1_000_000
# Three looks that fail, of which each may take as long as a node may hang, and two that succeed (P-CH-03).
_LONGEST_SWITCH_SECONDS = 60.0
_POLL_SECONDS = 0.25


@check(
    ROW,
    surface="rail",
    exclusive=Exclusive.CHAIN_AND_CLOCK,
    fix="Look at each lane's node regularly. Leave a lane out of every challenge while its node is away, answer 503 "
    "no_lane_available if none is left, and name the lanes and the reasons in /health.",
)
async def lanes_without_a_node_are_not_offered(case: Case) -> None:
    """A lane whose node is away is left out of challenges and named in /health, until the node is back.

    Takes the node of one lane away, then of all, at a rail of its own, and gives them back. Expects in turn: a 402 with
    the other lanes in their order; 503 `no_lane_available` with Retry-After, by REST and over A2A; and a 402 with all
    lanes. Expects meanwhile of /health status 200, the lanes that are offered, and if one is away `degraded`, the
    absent lanes with a reason each, and no faults. Expects the documents as ever.
    """
    async with limited_rail(case) as rail:
        if rail is None:
            return
        nodes = {lane: await case.session.payers.for_rail(lane) for lane in case.profile.claims.lanes}
        for lane, payer in nodes.items():
            if not isinstance(payer, Controlled) or _FAULT not in await payer.fault_names():
                case.mark_documented(ROW, f"the node of {lane} cannot be made unavailable (no control verb)")
                return
        await _judge_outages(
            case, rail, {lane: payer for lane, payer in nodes.items() if isinstance(payer, Controlled)}
        )


async def _judge_outages(case: Case, rail: LimitedRail, nodes: Mapping[str, Controlled]) -> None:
    whole = await _await_health(rail, lambda health: health.get("status") == "ok")
    _judge_health(case, whole, ())
    offer = await _call_unpaid(rail)
    networks = [str(entry.get("network")) for entry in entries(offer)]
    keys = {lane: str(getattr(payer, "network_key", lane)) for lane, payer in nodes.items()}
    names = whole.read_object().get("lanes")
    if offer.status != 402 or not isinstance(names, list) or len(networks) != len(names):
        raise Inconclusive(f"{len(networks)} lanes are offered, and /health names {names}")
    network_by_key = dict(zip(map(str, names), networks, strict=True))
    # One lane, and then those that are left.
    first = case.rng.choice(sorted(nodes))
    away: set[str] = set()
    async with AsyncExitStack() as faults:
        for lanes in ({first}, set(nodes) - {first}):
            for lane in sorted(lanes):
                await faults.enter_async_context(nodes[lane].fault(_FAULT, count=_CALLS))
            away = away | {keys[lane] for lane in lanes}
            health = await _await_health(rail, partial(_offers_none_of, away))
            _judge_health(case, health, away, names)
            left = [network for key, network in network_by_key.items() if key not in away]
            await _judge_offer(case, rail, left, ", ".join(sorted(away)))
    _judge_health(case, await _await_health(rail, lambda one: one.get("status") == "ok"), (), names)
    await _judge_offer(case, rail, networks, "")


async def _await_health(rail: LimitedRail, holds: Callable[[Mapping[str, Any]], bool]) -> Answer:
    """Return the health document as soon as it says something, or the last one."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + _LONGEST_SWITCH_SECONDS
    while True:
        answer = await rail.call("GET", "/health")
        if holds(answer.read_object()) or loop.time() > ends:
            return answer
        await asyncio.sleep(_POLL_SECONDS)


def _offers_none_of(away: Collection[str], health: Mapping[str, Any]) -> bool:
    lanes = health.get("lanes")
    return isinstance(lanes, list) and not set(away) & set(map(str, lanes))


async def _call_unpaid(rail: LimitedRail) -> Answer:
    operation = rail.operations[0]
    return await rail.call("POST", operation.path, json_body=operation.body)


def _judge_health(case: Case, answer: Answer, away: Collection[str], names: Collection[Any] | None = None) -> None:
    word = (case.profile.service_word or "").lower()
    lanes = is_an(list) if names is None else equals([name for name in names if name not in away])
    rules: dict[str, Rule] = {
        "status": equals("degraded" if away else "ok"),
        "service": equals(f"{word}-rail") if word else is_an(str),
        "version": is_an(str),
        "lanes": lanes,
    }
    if away:
        rules["lanes_away"] = Rule(f"an array of {sorted(away)}", lambda value: _has_members(value, away))
        rules["lanes_away_reasons"] = Rule("a reason for each", lambda value: _are_reasons(value, away))
        rules["faults"] = equals([])
    faults = [] if answer.status == 200 else [f"status {answer.status}"]
    faults += find_member_faults(answer.read_object(), rules, "health")
    _expect(case, answer, faults, "/health", away)


def _has_members(value: Any, names: Collection[str]) -> bool:
    return isinstance(value, list) and sorted(map(str, value)) == sorted(names)


def _are_reasons(value: Any, names: Collection[str]) -> bool:
    if not isinstance(value, Mapping) or sorted(value) != sorted(names):
        return False
    return all(isinstance(text, str) and text.strip() for text in value.values())


async def _judge_offer(case: Case, rail: LimitedRail, networks: list[str], away: str) -> None:
    """Judge an unpaid call, by REST and over A2A, of which these networks are the lanes."""
    operation = rail.operations[0]
    answer = await _call_unpaid(rail)
    if networks:
        # RAIL-402-24 judges the other members.
        faults = [] if answer.status == 402 else [f"status {answer.status}"]
        offered = [str(entry.get("network")) for entry in entries(answer)]
        faults += [] if offered == networks else [f"the lanes {offered}, not {networks}"]
    else:
        faults = _find_no_lane_faults(answer)
    _expect(case, answer, faults, operation.path, away)
    if case.profile.claims.includes("rail.a2a"):
        body = json_rpc.request("message/send", json_rpc.message(a2a.orders(case, operation)[0], "absent-lane"), 1)
        order = await rail.call("POST", a2a.A2A, json_body=body)
        offered = [str(entry.get("network")) for entry in a2a.task_of(a2a.name_live_values(case, order)).entries]
        faults = [] if offered == networks else [f"the lanes {offered}, not {networks}"]
        _expect(case, order, faults if networks else _find_no_lane_faults(order), a2a.A2A, away)
    catalog = await rail.call("GET", "/.well-known/x402")
    _expect(case, catalog, [] if catalog.status == 200 else [f"status {catalog.status}"], "/.well-known/x402", away)


def _find_no_lane_faults(answer: Answer) -> list[str]:
    value = answer.headers.get("Retry-After", "none")
    faults = [] if answer.status == 503 else [f"status {answer.status}"]
    faults += [] if re.fullmatch("[1-9][0-9]{0,2}", value) else [f"Retry-After {value}"]
    return faults + find_error_faults(answer, "no_lane_available")


def _expect(case: Case, answer: Answer, faults: list[str], place: str, away: Collection[str] | str) -> None:
    where = {"place": place, "nodes away": away if isinstance(away, str) else ", ".join(sorted(away))}
    case.expect(ROW, not faults, "as P-CH-03 and 5.10 say", "; ".join(faults) or "so", exchange=answer, where=where)
