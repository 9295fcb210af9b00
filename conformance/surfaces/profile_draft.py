"""Draft of a profile as TOML: the discovered values, and commented lines for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.items import Table

from conformance.discovery.rail import Operation
from conformance.surfaces.agent.profile_draft import agent_help
from conformance.surfaces.gateway.profile_draft import (
    bindable,
    checkout_nodes_help,
    gateway_help,
    gateway_tables,
    lanes_of,
    networks_of,
    writable,
)
from conformance.target import LANES, AgentBindings, Hub, Pace, RailBindings, Tls
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.profile_claims import RECEIPTS_ONLY

_HEAD = """\
# Target profile of the Weldproof suite, written by `weldproof init`. Read it before you rely on it:
# what is claimed here is tested, what is not claimed is reported as not applicable.
"""


_CHAIN_HEAD = """
# How the suite reaches the chain nodes that the target uses, and who pays. Secrets by environment variable or file,
# never by value. Without its table everything that needs a payment on a lane is inconclusive.
"""


# Rows about restarts apply to these surfaces.
_RESTARTABLE_SURFACES = ("rail", "gateway")


def _surfaces(urls: Mapping[str, Mapping[str, str]]) -> Table:
    """Return the tables of surfaces, each with a place for its restart command."""
    surfaces = tomlkit.table(is_super_table=True)
    for name, members in urls.items():
        table = tomlkit.table()
        table.update(members)
        if name in _RESTARTABLE_SURFACES:
            table.add(tomlkit.comment("Starts it again with what it kept; without it no restart is tried:"))
            table.add(tomlkit.comment(f'restart = ["systemctl", "--user", "restart", "my-{name}"]'))
        surfaces[name] = table
    return surfaces


def claimed_lanes(surfaces: Mapping[str, Any]) -> list[str]:
    """Return the lanes that a drafted profile claims."""
    lanes = set(surfaces["rail"]["lanes"]) if "rail" in surfaces else set()
    lanes |= set(lanes_of(surfaces["gateway"])) if "gateway" in surfaces else set()
    return [lane for lane in LANES if lane in lanes]


def offered_networks(surfaces: Mapping[str, Any]) -> dict[str, str]:
    """Return the key of the network that the target offers on each lane; the rail's network comes first."""
    networks = dict(networks_of(surfaces["gateway"])) if "gateway" in surfaces else {}
    return {**networks, **(surfaces["rail"]["networks"] if "rail" in surfaces else {})}


def follows_specification(surfaces: Mapping[str, Any]) -> bool:
    """Return whether a drafted profile claims the specification: of a rail alone whose every answer has its form.

    Parts of it need an administrator's key at a gateway, and the answers of the other surfaces show too little of it.
    There the operator decides.
    """
    return surfaces.keys() == {"rail"} and bool(surfaces["rail"]["specified"])


def render(
    surfaces: Mapping[str, Any],
    tenants: Mapping[str, tuple[str, str]],
    tables: Mapping[str, Mapping[str, Any]],
    pace: Pace,
    budgets: Mapping[str, float],
    tls: Tls | None = None,
    clock: str | None = None,
) -> str:
    """Return the text of a profile with the discovered surfaces and the known chain tables."""
    rail, gateway, agent = surfaces.get("rail"), surfaces.get("gateway"), surfaces.get("agent")
    urls = {name: {"url": one["url"] if name == "rail" else one.url} for name, one in surfaces.items()}
    word = {"service_word": rail["word"]} if rail is not None and rail["word"] is not None else {}
    document = tomlkit.document()
    document["version"] = 1
    # Without defaults, every name that the target leaves open is discovered or inconclusive, never
    # assumed.
    document["target"] = {"name": " and ".join(one["url"] for one in urls.values()), "defaults": "none", **word}
    document["surfaces"] = _surfaces(urls)
    options = ["rail.a2a", "rail.agent_card"] if rail is not None and rail["card"] else []
    options += [RECEIPTS_ONLY] if gateway is not None and gateway.receipts_only else []
    # Only what the probe saw is claimed. Further claims are the operator's decision.
    claims = tomlkit.table()
    claims.update({"surfaces": list(urls), "lanes": claimed_lanes(surfaces), "options": options})
    if follows_specification(surfaces):
        claims["specification"] = "1"
    else:
        claims.add(tomlkit.comment("With the next line, a server is judged by all of Weldproof's specification:"))
        claims.add(tomlkit.comment('specification = "1"'))
    document["claims"] = claims
    if rail is not None:
        document["rail"] = _bindings(rail)
    for name, table in (gateway_tables(gateway, tenants) if gateway is not None else {}).items():
        document[name] = table
    if agent is not None and agent.bindings:
        document["agent"] = bindable(AgentBindings, agent.bindings)
    hub = surfaces.get("control_plane")
    if hub is not None and hub.bindings:
        document["hub"] = bindable(Hub, hub.bindings)
    if tables:
        document["chains"] = tables
    document["pace"] = _pace_table(pace)
    further_tables = {"clock": {"offset_file": clock} if clock is not None else {}, "budgets": dict(budgets)}
    document |= {name: table for name, table in further_tables.items() if table}
    if tls is not None and tls.cacert is not None:
        # The path is absolute, because a later run may start in another folder.
        document["tls"] = {"cacert": str(tls.cacert.resolve())}
    if tls is not None and tls.insecure:
        document["tls"] = {"insecure": True}
    text = _HEAD + tomlkit.dumps(document) + _missing_chains(surfaces, tables)
    text += "" if agent is None else agent_help(agent)
    text += "" if gateway is None else checkout_nodes_help(gateway, tables)
    return text + (gateway_help(gateway, tenants, clock) if gateway is not None else "")


def _pace_table(pace: Pace) -> Table:
    table = tomlkit.table()
    table.update({"requests_per_second": pace.requests_per_second, "workers": pace.workers})
    if not pace.requests_per_second:
        table["requests_per_second"].comment("0 is no limit")
    if pace.limits:
        table["limits"] = {name: int(limit) for name, limit in pace.limits.items()}
    return table


def _missing_chains(surfaces: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return commented drafts of the chain tables that the operator must fill in."""
    networks = offered_networks(surfaces)
    drafts = [
        FACTS[lane].draft.replace(f"{lane}_mainnet", networks.get(lane, f"{lane}_mainnet"))
        for lane in claimed_lanes(surfaces)
        if lane not in tables
    ]
    return _CHAIN_HEAD + "".join(drafts) if drafts else ""


def _bindings(rail: Mapping[str, Any]) -> dict[str, Any]:
    operations: Sequence[Operation] = rail["operations"]
    services = [one for one in operations if one.role is not None and writable(one.path)]
    bindings: dict[str, Any] = {
        "services": {one.role: one.path for one in services},
        "bodies": {one.role: one.body for one in services if one.body and one.is_accepted and writable(one.body)},
    }
    price = next((rail["prices"][one.path] for one in services if one.role == "receipt-verify"), None)
    further_bindings = {"scheme": rail["scheme"], "challenge_ttl": rail["ttl"], "price_receipt_verify": price}
    return bindable(
        RailBindings, bindings | {name: value for name, value in further_bindings.items() if value is not None}
    )
