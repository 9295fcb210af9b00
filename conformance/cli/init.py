"""`weldproof init`: a first target profile, written by probing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import tomlkit

from conformance.cli.targets import UsageFault
from conformance.client import Answer, Client, Counter, HttpTransport, JsonFault, Names, Unreachable
from conformance.discovery import INDEX, Operation, discover
from conformance.events import EventLog
from conformance.purchase import lane_of
from conformance.target import Claims, Profile, Surface, Target, parse
from conformance.verdict import Exit

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
""",
    "base": """\
# [chains.base]
# network = "base_mainnet"
# rpc = "http://127.0.0.1:8545"
# control = "http://127.0.0.1:8545/control"     # simulated chains only
# funder = { env = "BASE_PAYER_KEY" }           # elsewhere: hex key of an account that holds ETH and USDC
""",
    "solana": """\
# [chains.solana]
# network = "solana_mainnet"
# rpc = "http://127.0.0.1:8899"
# ws = "ws://127.0.0.1:8900"
# control = "http://127.0.0.1:8899/control"     # simulated chains only
# funder = { file = "payer.json" }              # elsewhere: key pair of an account that holds SOL and USDC
""",
}
_MODEST_PACE = 20
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


@click.command("init")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=Path("weldproof.toml"))
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option(
    "--pace",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="Requests a second the target takes without limiting; 0 is no bound.",
)
@click.option(
    "--wait-for-expiry",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Longest the suite may wait for a challenge to lapse; without, those rows stay undecided.",
)
@click.option("--algod", help="Address of the algod node the target uses.")
@click.option("--indexer", help="Address of its indexer.")
@click.option("--algod-token-file", type=click.Path(path_type=Path, dir_okay=False), help="File with the algod token.")
@click.option("--control", help="Control address of the Algorand node, on simulated chains.")
@click.option("--funder-env", help="Environment variable with the mnemonic of an account that pays on Algorand.")
@click.option("--base-rpc", help="Address of the Base node the target uses.")
@click.option("--base-control", help="Its control address, on simulated chains.")
@click.option("--base-funder-env", help="Environment variable with the hex key of an account that pays on Base.")
@click.option("--solana-rpc", help="Address of the Solana node the target uses.")
@click.option("--solana-ws", help="Address of its WebSocket.")
@click.option("--solana-control", help="Its control address, on simulated chains.")
@click.option("--solana-funder-env", help="Environment variable with the key pair of an account that pays on Solana.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    urls: tuple[str, ...],
    output: Path,
    force: bool,
    pace: float,
    wait_for_expiry: float,
    **chain: Any,
) -> None:
    """Probe the servers at URL… and write a target profile that describes them.

    Exit codes: 0 written, 2 usage, 3 no surface answered.
    """
    if output.exists() and not force:
        raise UsageFault(f"{output} is there already; --force replaces it")
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise UsageFault(f"{url}: give an address such as http://localhost:8402")
    found, trouble = asyncio.run(_probe([url.rstrip("/") for url in urls]))
    for line in trouble:
        click.echo(f"  {line}", err=True)
    if not found:
        click.echo("weldproof init: no known surface answered; nothing written", err=True)
        ctx.exit(Exit.NO_VERDICT)
    text = _render(found["rail"], chain, pace, wait_for_expiry)
    parse(text, source=str(output))
    output.write_text(text, "utf-8")
    rail = found["rail"]
    click.echo(f"Wrote {output}: a rail at {rail['url']} with {len(rail['operations'])} paid operations.")
    click.echo(f"  lanes claimed: {', '.join(rail['lanes']) or 'none'}")
    for lane in rail["lanes"]:
        if lane not in _chains(chain):
            click.echo(
                f"  no node of {lane} yet: fill in [chains.{lane}], or what needs a payment there is inconclusive"
            )
    click.echo("Next: weldproof run")


async def _probe(urls: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    found: dict[str, Any] = {}
    trouble: list[str] = []
    async with HttpTransport(seconds=10, requests_per_second=0, connections=4) as transport:
        for url in urls:
            client = Client(transport, EventLog(), "init", Names(), Counter())
            try:
                rail = await _probe_rail(client, url)
            except (Unreachable, JsonFault) as fault:
                trouble.append(f"{url}: {fault}")
                continue
            if rail is None:
                trouble.append(f"{url}: not a surface this version can probe (it publishes no paid operation)")
            else:
                found["rail"] = rail
    return found, trouble


async def _probe_rail(client: Client, url: str) -> dict[str, Any] | None:
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
        "scheme": next((entry.get("scheme") for entry in entries if isinstance(entry.get("scheme"), str)), None),
        "ttl": _ttl(entries),
        "prices": {path: _price(answer) for path, answer in answers.items()},
        "card": card.status == 200,
        "word": service_word(index),
    }


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
    seconds = {entry.get("maxTimeoutSeconds") for entry in entries}
    only = seconds.pop() if len(seconds) == 1 else None
    return only if isinstance(only, int) and not isinstance(only, bool) else None


def _price(answer: Answer) -> str | None:
    prices = {entry.get("maxAmountRequired") for entry in _entries(answer)}
    only = prices.pop() if len(prices) == 1 else None
    return only if isinstance(only, str) else None


def _render(rail: Mapping[str, Any], chain: Mapping[str, Any], pace: float, wait_for_expiry: float) -> str:
    document = tomlkit.document()
    document["version"] = 1
    word = {} if rail["word"] is None else {"service_word": rail["word"]}
    document["target"] = {"name": rail["url"], "defaults": "none", **word}
    document["surfaces"] = {"rail": {"url": rail["url"]}}
    options = ["rail.a2a", "rail.agent_card"] if rail["card"] else []
    document["claims"] = {"surfaces": ["rail"], "lanes": rail["lanes"], "options": options}
    document["rail"] = _bindings(rail)
    tables = _chains(chain)
    if tables:
        document["chains"] = tables
    document["pace"] = {"requests_per_second": pace, "workers": 4 if 0 < pace <= _MODEST_PACE else 8}
    if wait_for_expiry:
        document["budgets"] = {"wait_for_expiry": wait_for_expiry}
    missing = [_CHAIN_HELP[lane] for lane in rail["lanes"] if lane not in tables]
    return _HEAD + tomlkit.dumps(document) + (_CHAIN_HEAD + "".join(missing) if missing else "")


def _bindings(rail: Mapping[str, Any]) -> dict[str, Any]:
    operations: Sequence[Operation] = rail["operations"]
    known = [one for one in operations if one.role is not None]
    bindings: dict[str, Any] = {
        "services": {one.role: one.path for one in known},
        "bodies": {one.role: one.body for one in known if one.body},
    }
    price = next((rail["prices"][one.path] for one in known if one.role == "receipt-verify"), None)
    named = {"scheme": rail["scheme"], "challenge_ttl": rail["ttl"], "price_receipt_verify": price}
    return bindings | {name: value for name, value in named.items() if value is not None}


def _chains(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the chain tables that the options describe, by lane."""
    tables = {}
    for lane, options in _CHAIN_OPTIONS.items():
        node = options[0][1]
        if not given.get(node):
            continue
        table: dict[str, Any] = {"network": f"{lane}_mainnet"}
        table |= {member: given[option] for member, option in options if given.get(option)}
        if lane == "algorand" and given.get("algod_token_file"):
            table["token"] = {"file": str(Path(given["algod_token_file"]).resolve())}
        if given.get(_FUNDERS[lane]):
            table["funder"] = {"env": given[_FUNDERS[lane]]}
        tables[lane] = table
    return tables
