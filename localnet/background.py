"""`localnet start|stop|status|fund`: real nodes that run in the background."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import click
import orjson

from localnet import state
from localnet.lanes.registry import LANES
from localnet.node_control import ControlFault, control
from localnet.rpc import NodeFault
from localnet.state import State

T = TypeVar("T")
EXIT_USAGE, EXIT_MISSING, EXIT_FAULT = 2, 3, 4
_END_SECONDS, _ASK_SECONDS = 20.0, 5.0
# The lane of each node, those that are called like their lane first; and of each node by its address's name.
_NODES = dict(
    sorted(((node, lane) for lane in LANES.values() for node in lane.nodes), key=lambda of: of[0] not in LANES)
)
_HEADS = {name: lane for lane in LANES.values() for name in lane.nodes.values()}

IN_FOLDER = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("data/localnet"),
    show_default=True,
    help="Folder for localnet.json, keys and logs.",
)


@click.command()
@click.argument("lanes", nargs=-1, type=click.Choice(list(LANES)), metavar="[CHAIN]...")
@click.option("--port-base", type=click.IntRange(0, 65000), help="First port; 0 picks free ones. Default: usual ports.")
@IN_FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print localnet.json's content.")
def start(lanes: tuple[str, ...], port_base: int | None, data_dir: Path, as_json: bool) -> None:
    """Start real nodes in the background: all three chains, or those named.

    Exit codes: 0 they answer, 2 they run already, 3 something is missing here, 4 one did not become ready.
    """
    if state.read(data_dir) is not None:
        click.echo(f"localnet runs already; `weldproof localnet stop --data-dir {data_dir}` ends it", err=True)
        sys.exit(EXIT_USAGE)
    data_dir.mkdir(parents=True, exist_ok=True)
    port = [] if port_base is None else ["--port-base", str(port_base)]
    words = [sys.executable, "-m", "localnet", "hold", "--data-dir", str(data_dir), *port, *lanes]
    log_file = data_dir / "holder.log"
    with log_file.open("wb") as log:
        holder = subprocess.Popen(  # noqa: S603 - our own launcher
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
    try:
        line = holder.stdout.readline() if holder.stdout is not None else b""
    except KeyboardInterrupt:
        holder.terminate()
        holder.wait()
        raise
    if not line:
        click.echo(log_file.read_text("utf-8", "replace").strip(), err=True)
        sys.exit(holder.wait())
    _show(orjson.loads(line), as_json=as_json)


@click.command()
@IN_FOLDER
def stop(data_dir: Path) -> None:
    """End the nodes that run in the background; nothing of them is left behind."""
    holder_state = state.read(data_dir)
    if holder_state is None:
        click.echo("localnet does not run")
        return
    if holder_state.holder.runs:
        os.kill(holder_state.holder.pid, signal.SIGTERM)
        holder_state.holder.gone_within(_END_SECONDS)
    for process in (holder_state.holder, *holder_state.processes.values()):
        process.kill_group()
    (data_dir / state.NAME).unlink(missing_ok=True)
    click.echo("localnet is stopped")


@click.command()
@IN_FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(data_dir: Path, as_json: bool) -> None:
    """Ask each node that runs in the background for its newest block.

    Exit codes: 0 all answer, 3 none runs or one does not answer.
    """
    holder_state = state.read(data_dir)
    if holder_state is None:
        click.echo(orjson.dumps({"running": False}) if as_json else "localnet does not run")
        sys.exit(EXIT_MISSING)
    heads = asyncio.run(ask_nodes(lambda session: _heads(session, holder_state, data_dir)))
    if as_json:
        click.echo(
            orjson.dumps({"running": True, "nodes": heads, "urls": holder_state.urls, "control": holder_state.control})
        )
    else:
        for name, head in heads.items():
            click.echo(
                f"  {name:14} {holder_state.urls.get(name, ''):28} {'does not answer' if head is None else head}"
            )
    sys.exit(EXIT_MISSING if None in heads.values() else 0)


async def _heads(session: aiohttp.ClientSession, holder_state: State, data_dir: Path) -> dict[str, int | None]:
    async def head(name: str, url: str) -> int | None:
        try:
            return await _HEADS[name].head(session, url, data_dir)
        except (NodeFault, aiohttp.ClientError, TimeoutError):
            return None

    node_urls = {name: url for name, url in holder_state.urls.items() if name in _HEADS}
    return dict(zip(node_urls, await asyncio.gather(*(head(*one) for one in node_urls.items())), strict=True))


@click.command()
@click.argument("chain", type=click.Choice(list(_NODES)))
@click.argument("address")
@click.argument("amount")
@click.option("--coin", is_flag=True, help="Native coin for fees instead of USDC.")
@IN_FOLDER
def fund(chain: str, address: str, amount: str, coin: bool, data_dir: Path) -> None:
    """Give ADDRESS on CHAIN so many atomic units of USDC (or of the native coin).

    Exit codes: 0 given, 1 refused, 3 that chain does not run.
    """
    holder_state = state.read(data_dir)
    if holder_state is None or chain not in holder_state.control:
        click.echo(f"{chain} does not run; `weldproof localnet start {_NODES[chain].name}` starts it", err=True)
        sys.exit(EXIT_MISSING)
    verb = "fund" if coin else "mint"

    async def give(session: aiohttp.ClientSession) -> dict[str, Any]:
        return await control(session, holder_state.control[chain], verb, address=address, amount=amount)

    try:
        answer = asyncio.run(ask_nodes(give))
    except ControlFault as fault:
        click.echo(f"weldproof localnet: {fault}", err=True)
        sys.exit(1)
    click.echo(f"given{', in transaction ' + answer['tx_id'] if 'tx_id' in answer else ''}")


async def ask_nodes(call: Callable[[aiohttp.ClientSession], Awaitable[T]]) -> T:
    """Call with a session to nodes, and return what the call returns."""
    timeout = aiohttp.ClientTimeout(total=_ASK_SECONDS * 6, sock_connect=_ASK_SECONDS)
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as session:
        return await call(session)


def _show(facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps(facts))
        return
    click.echo(f"Real nodes run: {', '.join(facts['lanes'])}.")
    for name, url in facts["urls"].items():
        click.echo(f"  {name:14} {url}")
    for name, url in facts["control"].items():
        click.echo(f"  {'control of ' + name:24} {url}")
