"""`weldproof init`: a first target profile, written by probing."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import tomlkit

from conformance.cli.asking_nodes import with_networks
from conformance.cli.connection import connected
from conformance.cli.targets import WORKING_PROFILE
from conformance.cli.usage import UsageFault
from conformance.discovery.rail import INDEX, Operation, discover
from conformance.discovery.recognising import described
from conformance.http.client import Answer, Client, Counter, JsonFault, Names, Throttled, Unreachable
from conformance.http.transport import HttpTransport
from conformance.http.trust import context_of
from conformance.log.events import EventLog
from conformance.outcome import Exit
from conformance.surfaces.agent.paths import VERIFY
from conformance.surfaces.agent.probing import AgentFound, probe_agent
from conformance.surfaces.control_plane.probing import TOKEN_VARIABLE as HUB_TOKEN_VARIABLE
from conformance.surfaces.control_plane.probing import HubFound, probe_hub
from conformance.surfaces.gateway.calls import RECEIPT_VERIFY
from conformance.surfaces.gateway.probing import GatewayFound, probe_gateway
from conformance.surfaces.gateway.profile_draft import (
    bindable,
    checkout_nodes_help,
    gateway_help,
    gateway_tables,
    lanes_of,
    networks_of,
    writable,
)
from conformance.surfaces.measuring import measure
from conformance.surfaces.rail.purchase import lane_of
from conformance.target import (
    LANES,
    AgentBindings,
    Claims,
    Hub,
    Pace,
    Profile,
    ProfileError,
    RailBindings,
    Secret,
    Surface,
    Target,
    Tls,
    parse,
)
from conformance.target.chains import ATOMIC_UNITS
from conformance.text.untrusted import one_line
from conformance.vocabulary.claims import RECEIPTS_ONLY
from conformance.vocabulary.networks import network_named

_HEAD = """\
# Target profile of the Weldproof suite, written by `weldproof init`. Read it before you rely on it:
# what is claimed here is tested, what is not claimed is reported as not applicable.
"""
_CHAIN_HELP: Mapping[str, str] = {
    "algorand": """\
# [chains.algorand]
# network = "algorand_mainnet"
# algod = "http://127.0.0.1:4001"
# indexer = "http://127.0.0.1:8980"
# token = { env = "ALGOD_TOKEN" }
# control = "http://127.0.0.1:4001/control"     # simulated chains only: funds the payer by itself
# funder = { env = "PAYER_MNEMONIC" }           # elsewhere: an account that holds Algos and USDC
# spending_limit = "5000000"                    # with a funder: atomic units of USDC a whole run may take, on all lanes
""",
    "base": """\
# [chains.base]
# network = "base_mainnet"
# rpc = "http://127.0.0.1:8545"
# control = "http://127.0.0.1:8545/control"     # simulated chains only
# funder = { env = "BASE_PAYER_KEY" }           # elsewhere: hex key of an account that holds ETH and USDC
# spending_limit = "5000000"                    # with a funder
""",
    "solana": """\
# [chains.solana]
# network = "solana_mainnet"
# rpc = "http://127.0.0.1:8899"
# ws = "ws://127.0.0.1:8900"
# control = "http://127.0.0.1:8899/control"     # simulated chains only
# funder = { file = "payer.json" }              # elsewhere: key pair of an account that holds SOL and USDC
# spending_limit = "5000000"                    # with a funder
""",
}
_MODEST_PACE = 20
_TENANT_NAMES = ("first", "second")
_RECEIPT_KIND = re.compile(r"([a-z][a-z0-9]{1,31})/payable-svc-receipt/1")
_CHAIN_HEAD = """
# How the suite reaches the chain nodes that the target uses, and who pays. Secrets by environment variable or file,
# never by value. Without its table everything that needs a payment on a lane is inconclusive.
"""
# Options of the command for each lane: (member of its table, option).
_CHAIN_OPTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "algorand": (("algod", "algod"), ("indexer", "indexer"), ("control", "control")),
    "base": (("rpc", "base_rpc"), ("control", "base_control")),
    "solana": (("rpc", "solana_rpc"), ("ws", "solana_ws"), ("control", "solana_control")),
}
_FUNDERS = {"algorand": "funder_env", "base": "base_funder_env", "solana": "solana_funder_env"}


def initialise(
    ctx: click.Context,
    /,
    urls: tuple[str, ...],
    output: Path,
    force: bool,
    pace: float,
    wait_for_expiry: float,
    tenants: tuple[str, ...],
    cacert: Path | None,
    insecure: bool,
    timeout: float | None,
    **chain: Any,
) -> None:
    """Do what `weldproof init` says of itself; its options are declared beside its help."""
    if output.exists() and not force:
        raise UsageFault(f"{output} is there already; --force replaces it")
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise UsageFault(f"{url}: give an address such as http://localhost:8402")
    _checked_limit(chain)
    known = _tenants(tenants)
    addresses = [url.rstrip("/") for url in urls]
    asked = Profile(surfaces={str(number): Surface(url=url) for number, url in enumerate(addresses)})
    asked = connected(asked, {"cacert": cacert, "insecure": insecure, "timeout": timeout})
    found, limits, trouble = asyncio.run(_probe(addresses, _credentials(known), asked))
    for line in trouble:
        click.echo(f"  {one_line(line, 600)}", err=True)
    if not found:
        click.echo("weldproof init: no known surface answered; nothing written", err=True)
        ctx.exit(Exit.NO_VERDICT)
    tables, notes = with_networks(_chains(chain), _offered(found))
    for line in notes:
        click.echo(f"  {one_line(line, 600)}", err=True)
    budgets = {name: value for name, value in (("request", timeout), ("wait_for_expiry", wait_for_expiry)) if value}
    workers = 4 if 0 < pace <= _MODEST_PACE else 8
    asking = Pace(requests_per_second=pace, workers=workers, limits={name: float(one) for name, one in limits.items()})
    text = render(found, known, tables, asking, budgets, asked.tls)
    parse(text, source=str(output))
    output.write_text(text, "utf-8")
    for operation, limit in limits.items():
        click.echo(f"  {operation}: {limit} calls a minute were let through, as [pace.limits] has it")
    _tell(found, output, chain)


def _checked_limit(chain: Mapping[str, Any]) -> None:
    limit = chain.get("spending_limit")
    if any(chain.get(option) for option in _FUNDERS.values()) and limit is None:
        raise UsageFault("an account that pays goes with --spending-limit, the atomic units of USDC of a whole run")
    if limit is not None and re.fullmatch(ATOMIC_UNITS, limit) is None:
        raise UsageFault("--spending-limit: give atomic units of USDC, such as 5000000 for 5 USDC")


def _tenants(given: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return id and environment variable of each tenant by its name in the profile."""
    if len(given) > len(_TENANT_NAMES):
        raise UsageFault("--tenant: two tenants are enough")
    known = {}
    for name, text in zip(_TENANT_NAMES, given, strict=False):
        tenant_id, equals, variable = text.partition("=")
        if not (tenant_id and equals and variable):
            raise UsageFault(f"--tenant {text}: give ID=VARIABLE, the variable's name, not the key")
        known[name] = (tenant_id, variable)
    return known


def _credentials(tenants: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Return the header fields of each tenant."""
    try:
        return {
            name: {"Authorization": f"Bearer {Secret(env=variable).read()}", "X-Tenant-Id": tenant_id}
            for name, (tenant_id, variable) in tenants.items()
        }
    except ProfileError as fault:
        raise UsageFault(f"--tenant: {fault}") from fault


def _tell_rail(rail: Mapping[str, Any], output: Path) -> None:
    click.echo(f"Wrote {output}: a rail at {rail['url']} with {len(rail['operations'])} paid operations.")
    for one in rail["operations"]:
        if not one.sure:
            bind = f"[rail.bodies] {one.role}" if one.role else "[rail.services] and [rail.bodies]"
            click.echo(f"  no body that {one.path} accepts is known yet: give {bind}")


def _tell(found: Mapping[str, Any], output: Path, chain: Mapping[str, Any]) -> None:
    if "rail" in found:
        _tell_rail(found["rail"], output)
    if "gateway" in found:
        gateway: GatewayFound = found["gateway"]
        names = ", ".join(sorted(gateway.bindings)) or "nothing"
        click.echo(f"Wrote {output}: a gateway at {gateway.url}; found out: {names}.")
        if gateway.receipts_only:
            click.echo(f"  it verifies receipts and nothing else, as [claims] options has it: {RECEIPTS_ONLY}")
        for note in gateway.notes:
            click.echo(f"  {one_line(note, 600)}")
    if "agent" in found:
        agent: AgentFound = found["agent"]
        names = ", ".join(sorted(agent.bindings)) or "nothing"
        click.echo(f"Wrote {output}: an agent at {agent.url}; found out: {names}.")
    if "control_plane" in found:
        hub: HubFound = found["control_plane"]
        click.echo(f"Wrote {output}: a control plane at {hub.url}.")
        if "token" not in hub.bindings:
            click.echo(f"  no admin token yet: set {HUB_TOKEN_VARIABLE} and give [hub] token, or most rows stay open")
    lanes = _lanes(found)
    click.echo(f"  lanes claimed: {', '.join(lanes) or 'none'}")
    for lane in lanes:
        if lane not in _chains(chain):
            click.echo(
                f"  no node of {lane} yet: fill in [chains.{lane}], or what needs a payment there is inconclusive"
            )
    config = "" if output == WORKING_PROFILE else f" --config {shlex.quote(str(output))}"
    click.echo(f"Next: weldproof run{config}")


async def _probe(
    urls: Sequence[str], tenants: Mapping[str, Mapping[str, str]], asked: Profile
) -> tuple[dict[str, Any], dict[str, int], list[str]]:
    """Return what was found of the surfaces, what limits were met, and what went wrong."""
    found: dict[str, Any] = {}
    trouble: list[str] = []
    seconds, tls = asked.budgets.request, context_of(asked.tls)
    async with HttpTransport(seconds=seconds, requests_per_second=0, connections=4, tls=tls) as transport:
        for url in urls:
            client = Client(transport, EventLog(), "init", Names(), Counter())
            try:
                gateway = await probe_gateway(client, url, tenants)
                rail = await probe_rail(client, url)
                agent = await probe_agent(client, url)
                hub = await probe_hub(client, url)
            except (Unreachable, Throttled, JsonFault) as fault:
                trouble.append(f"{url}: {fault}")
                continue
            credentials = next(iter(tenants.values()), {})
            for path, body in _limited(gateway, agent):
                await measure(client, transport.pacer, url + path, body, credentials if gateway is not None else {})
            if gateway is not None:
                found["gateway"] = gateway
            if rail is not None:
                found["rail"] = rail
            if agent is not None:
                found["agent"] = agent
            if hub is not None:
                found["control_plane"] = hub
            if gateway is None and rail is None and agent is None and hub is None:
                known = "no paid operation, links, receipt verification, verify or trust set"
                looks = described(await client.call("GET", url + "/"))
                trouble.append(f"{url}: looks like no surface that is known ({known}); its / was answered {looks}")
                if not tenants:
                    trouble.append("  a gateway that wants credentials before anything else shows itself with --tenant")
        limits = transport.pacer.learnt()
    return found, limits, trouble


def _limited(gateway: GatewayFound | None, agent: AgentFound | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the operations that a run calls most, with what is posted to find out how often it may."""
    if gateway is not None:
        yield RECEIPT_VERIFY, {gateway.bindings.get("receipt_member", "jws"): "e30.e30.AA"}
    if agent is not None:
        yield VERIFY, {}


async def probe_rail(client: Client, url: str) -> dict[str, Any] | None:
    """Ask a server whether it is a rail; what it sells and offers then, None when it is none.

    Raises:
        Unreachable: It gave no answer.
    """
    profile = Profile(target=Target(), surfaces={"rail": Surface(url=url)}, claims=Claims(surfaces=("rail",)))
    operations = await discover(client, profile)
    if not operations:
        return None
    answers = {one.path: await client.call("POST", one.url, json_body=one.body) for one in operations}
    entries = [entry for answer in answers.values() for entry in _entries(answer)]
    lanes = [lane for lane in ("algorand", "base", "solana") if any(lane_of(entry) == lane for entry in entries)]
    card = await client.call("GET", url + "/.well-known/agent-card.json")
    index = (await client.call("GET", url + INDEX)).object()
    return {
        "url": url,
        "operations": operations,
        "lanes": lanes,
        "networks": _network_keys(entries),
        "scheme": next((entry.get("scheme") for entry in entries if isinstance(entry.get("scheme"), str)), None),
        "ttl": _ttl(entries),
        "prices": {path: _price(answer) for path, answer in answers.items()},
        "card": card.status == 200,
        "word": service_word(index),
    }


def _network_keys(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the network key of each lane, by the first entry that names one that is known."""
    found: dict[str, str] = {}
    for entry in entries:
        lane, known = lane_of(entry), network_named(entry.get("network"))
        if lane is not None and known is not None:
            found.setdefault(lane, known.key)
    return found


def service_word(index: Mapping[str, Any]) -> str | None:
    """Return the service word of a rail by the receipt kind in its index, `<word>/payable-svc-receipt/1`.

    The provider's name gives the spelling where it is the same word.
    """
    receipts = index.get("receipts")
    kind = receipts.get("payable_receipt") if isinstance(receipts, dict) else None
    found = _RECEIPT_KIND.fullmatch(kind) if isinstance(kind, str) else None
    if found is None:
        return None
    provider = index.get("provider")
    return provider if isinstance(provider, str) and provider.lower() == found[1] else found[1]


def _entries(answer: Answer) -> list[Mapping[str, Any]]:
    accepts = answer.object().get("accepts")
    return [entry for entry in accepts if isinstance(entry, dict)] if isinstance(accepts, list) else []


def _ttl(entries: Sequence[Mapping[str, Any]]) -> int | None:
    only = _only(entries, "maxTimeoutSeconds")
    return only if isinstance(only, int) and not isinstance(only, bool) else None


def _price(answer: Answer) -> str | None:
    only = _only(_entries(answer), "maxAmountRequired")
    return only if isinstance(only, str) else None


def _only(entries: Sequence[Mapping[str, Any]], name: str) -> Any:
    """Return what every entry has as a member of this name, None where they differ or there is none."""
    values = [entry.get(name) for entry in entries]
    return values[0] if values and all(value == values[0] for value in values) else None


def _lanes(found: Mapping[str, Any]) -> list[str]:
    offered = set(found["rail"]["lanes"]) if "rail" in found else set()
    offered |= set(lanes_of(found["gateway"])) if "gateway" in found else set()
    return [lane for lane in LANES if lane in offered]


def _offered(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the key of the network that the target offers on each lane, the rail's where it has one."""
    offered = dict(networks_of(found["gateway"])) if "gateway" in found else {}
    return {**offered, **(found["rail"]["networks"] if "rail" in found else {})}


def render(
    found: Mapping[str, Any],
    tenants: Mapping[str, tuple[str, str]],
    tables: Mapping[str, Mapping[str, Any]],
    pace: Pace,
    budgets: Mapping[str, float],
    tls: Tls | None = None,
) -> str:
    """Return the text of a profile that describes what was found, with the chain tables that are known."""
    rail, gateway, agent = found.get("rail"), found.get("gateway"), found.get("agent")
    urls = {name: {"url": one["url"] if name == "rail" else one.url} for name, one in found.items()}
    word = {"service_word": rail["word"]} if rail is not None and rail["word"] is not None else {}
    document = tomlkit.document()
    document["version"] = 1
    document["target"] = {"name": " and ".join(one["url"] for one in urls.values()), "defaults": "none", **word}
    document["surfaces"] = urls
    options = ["rail.a2a", "rail.agent_card"] if rail is not None and rail["card"] else []
    options += [RECEIPTS_ONLY] if gateway is not None and gateway.receipts_only else []
    document["claims"] = {"surfaces": list(urls), "lanes": _lanes(found), "options": options}
    if rail is not None:
        document["rail"] = _bindings(rail)
    for name, table in (gateway_tables(gateway, tenants) if gateway is not None else {}).items():
        document[name] = table
    if agent is not None and agent.bindings:
        document["agent"] = bindable(AgentBindings, agent.bindings)
    hub = found.get("control_plane")
    if hub is not None and hub.bindings:
        document["hub"] = bindable(Hub, hub.bindings)
    if tables:
        document["chains"] = tables
    document["pace"] = {"requests_per_second": pace.requests_per_second, "workers": pace.workers}
    if pace.limits:
        document["pace"]["limits"] = {name: int(limit) for name, limit in pace.limits.items()}
    if budgets:
        document["budgets"] = dict(budgets)
    if tls is not None and tls.cacert is not None:
        document["tls"] = {"cacert": str(tls.cacert.resolve())}
    if tls is not None and tls.insecure:
        document["tls"] = {"insecure": True}
    offered = _offered(found)
    missing = [
        _CHAIN_HELP[lane].replace(f"{lane}_mainnet", offered.get(lane, f"{lane}_mainnet"))
        for lane in _lanes(found)
        if lane not in tables
    ]
    text = _HEAD + tomlkit.dumps(document) + (_CHAIN_HEAD + "".join(missing) if missing else "")
    text += "" if gateway is None else checkout_nodes_help(gateway, tables)
    return text + (gateway_help(gateway, tenants) if gateway is not None else "")


def _bindings(rail: Mapping[str, Any]) -> dict[str, Any]:
    operations: Sequence[Operation] = rail["operations"]
    known = [one for one in operations if one.role is not None and writable(one.path)]
    bindings: dict[str, Any] = {
        "services": {one.role: one.path for one in known},
        "bodies": {one.role: one.body for one in known if one.body and one.sure and writable(one.body)},
    }
    price = next((rail["prices"][one.path] for one in known if one.role == "receipt-verify"), None)
    named = {"scheme": rail["scheme"], "challenge_ttl": rail["ttl"], "price_receipt_verify": price}
    return bindable(RailBindings, bindings | {name: value for name, value in named.items() if value is not None})


def _chains(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the chain tables that the options describe, by lane."""
    tables = {}
    for lane, options in _CHAIN_OPTIONS.items():
        node = options[0][1]
        if not given.get(node):
            continue
        table: dict[str, Any] = {member: given[option] for member, option in options if given.get(option)}
        if lane == "algorand" and given.get("algod_token_file"):
            table["token"] = {"file": str(Path(given["algod_token_file"]).resolve())}
        if given.get(_FUNDERS[lane]):
            table |= {"funder": {"env": given[_FUNDERS[lane]]}, "spending_limit": given["spending_limit"]}
        tables[lane] = table
    return tables
