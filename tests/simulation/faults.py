"""What goes wrong around a rail: machines, clocks, nodes, files and deployments. Each fault ends by itself."""

from __future__ import annotations

import asyncio
import json
import math
import random
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from tests.simulation.base import Base
from tests.simulation.chains import Solana
from tests.simulation.gateway import Shop
from tests.simulation.payers import Market
from tests.simulation.rail import SERVICES, change_plan
from tests.simulation.receivers import MOODS, Receiver
from tests.simulation.wire import Answer, NodeNetwork
from tests.simulation.workers import Worker

_CHAINS = (("algod", "indexer"), ("solana",), ("base",))
# A claim lapses when its node says for a whole settle window (900 s) that there is no payment: no rail can know better.
LONGEST_LIE = 800.0
_ARMED_FAULTS = ("unavailable", "server_error", "hang", "cut_off", "not_json", "empty_body", "lost")


class Around(Protocol):
    """What faults act on."""

    market: Market
    shop: Shop | None
    nodes: NodeNetwork
    receivers: Sequence[Receiver]


def _all_workers(around: Around) -> list[Worker]:
    shop = around.shop
    return [*around.market.rail.workers.values(), *(shop.gateway.workers.values() if shop is not None else ())]


def _worker(around: Around, chance: random.Random) -> Worker:
    return chance.choice(_all_workers(around))


def _nodes(around: Around) -> list[tuple[str, ...]]:
    return [names for names in _CHAINS if names[0] in around.nodes.hosts]


def _base(around: Around) -> Base | None:
    chain = around.market.rail.chains.get(Base.network)
    return chain if isinstance(chain, Base) else None


def _long(chance: random.Random, low: float, high: float) -> float:
    """Return seconds between `low` and `high`, short ones as likely as long ones."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


async def restart(around: Around, chance: random.Random) -> None:
    """End a worker as SIGTERM does and start it again."""
    worker = _worker(around, chance)
    await worker.stop()
    await asyncio.sleep(_long(chance, 0.1, 300))
    await worker.start()


async def kill(around: Around, chance: random.Random) -> None:
    """Kill a worker between two of its steps, a while from now."""
    worker = _worker(around, chance)
    if worker.machine is not None:
        if chance.random() < 0.5:
            worker.machine.kill_after(steps=chance.randrange(1, chance.choice((10, 100, 600))))
        else:
            worker.machine.kill_after(commits=chance.randrange(1, 8))
    await asyncio.sleep(_long(chance, 1, 300))
    if worker.machine is not None:
        worker.machine.kill()
    await asyncio.sleep(_long(chance, 0.1, 100))
    await worker.start()


async def kill_all(around: Around, chance: random.Random) -> None:
    """Kill all workers at once, as a power cut does."""
    for worker in _all_workers(around):
        if worker.machine is not None:
            worker.machine.kill()
    await asyncio.sleep(_long(chance, 0.1, 600))
    for worker in _all_workers(around):
        await worker.start()


async def reprice(around: Around, chance: random.Random) -> None:
    """Change prices or the payee by restarting one worker after the other; they overlap meanwhile."""
    rail = around.market.rail
    rail.plan = change_plan(rail.plan, chance)
    await _roll(around, chance)


async def _roll(around: Around, chance: random.Random) -> None:
    rail = around.market.rail
    pause = _long(chance, 1, 4000)
    for name in chance.sample(sorted(rail.workers), len(rail.workers)):
        await rail.workers[name].stop()
        await rail.workers[name].start()
        await asyncio.sleep(chance.uniform(0, pause))


async def switch_off(around: Around, chance: random.Random) -> None:
    """Switch a service off, and on again later."""
    rail = around.market.rail
    service = chance.choice(sorted(SERVICES))
    rail.plan = replace(rail.plan, disabled=(service,))
    await _roll(around, chance)
    await asyncio.sleep(_long(chance, 10, 40_000))
    rail.plan = replace(rail.plan, disabled=())
    await _roll(around, chance)


async def outage(around: Around, chance: random.Random) -> None:
    """Take a chain's node away, for seconds or hours."""
    hosts = [around.nodes.hosts[name] for name in chance.choice(_nodes(around))]
    for host in hosts:
        host.away = True
    await asyncio.sleep(_long(chance, 5, 20_000))
    for host in hosts:
        host.away = False


async def broken_answers(around: Around, chance: random.Random) -> None:
    """Let a node's next answers be what the simulators' faults make of them."""
    host = around.nodes.hosts[chance.choice(chance.choice(_nodes(around)))]
    host.app._faults.arm(chance.choice(_ARMED_FAULTS), seed=chance.randrange(10**6), count=chance.randrange(1, 30))
    await asyncio.sleep(0)


async def lie(around: Around, chance: random.Random) -> None:
    """Let a node say for a while that it knows no transaction: it lags, or it is another one behind the same name."""
    hosts = [around.nodes.hosts[name] for name in chance.choice(_nodes(around))]
    if any(host.honest_until > around.market.now() for host in hosts):
        return
    for host in hosts:
        host.lie = _absent
    await asyncio.sleep(_long(chance, 2, LONGEST_LIE))
    for host in hosts:
        host.lie, host.honest_until = None, around.market.now() + LONGEST_LIE


async def gone_for_good(around: Around, chance: random.Random) -> None:
    """Let a node say for days that there is no payment, which no rail stands: it shows that a loss is found."""
    del chance
    hosts = [around.nodes.hosts[name] for names in _nodes(around) for name in names]
    for host in hosts:
        host.lie = _absent
    await asyncio.sleep(2 * 86_400)
    for host in hosts:
        host.lie = None


def _absent(method: str, target: str, body: bytes) -> Answer | None:
    if method == "GET":
        if "/v2/transactions/" in target and "params" not in target:
            return Answer(404, {}, b'{"message":"not found"}')
        return None
    question = json.loads(body)
    if isinstance(question, list):  # it is asked one by one then, and lies where it wants to
        error_reply = {"jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": "no batches now"}}
        return Answer(200, {}, json.dumps(error_reply).encode())
    if question.get("method") in {"eth_getTransactionReceipt", "eth_getTransactionByHash"}:
        return Answer(200, {}, json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": None}).encode())
    if question.get("method") == "getSignatureStatuses":
        error_reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"context": {"slot": 1}, "value": [None]}}
        return Answer(200, {}, json.dumps(error_reply).encode())
    return None


async def skew(around: Around, chance: random.Random) -> None:
    """Let a worker's clock be wrong by less than a minute, and drift."""
    worker = _worker(around, chance)
    worker.set_clock(chance.uniform(-45, 45), chance.uniform(-1e-4, 1e-4))
    if chance.random() < 0.5:
        await worker.stop()
        await worker.start()
    await asyncio.sleep(_long(chance, 60, 40_000))
    worker.set_clock(0.0)


async def jump(around: Around, chance: random.Random) -> None:
    """Let a worker's clock jump, forward or back, and be set right later."""
    worker = _worker(around, chance)
    worker.set_clock(chance.choice((1, 1, 1, -1)) * _long(chance, 100, 400_000))
    await asyncio.sleep(_long(chance, 3, 10_000))
    worker.set_clock(0.0)


async def cold_boot(around: Around, chance: random.Random) -> None:
    """Restart a worker with a clock that is far off, as after an empty battery, and set it right later."""
    worker = _worker(around, chance)
    await worker.stop()
    worker.set_clock(chance.choice((1, 1, 1, -1)) * _long(chance, 1000, 400_000))
    await worker.start()
    await asyncio.sleep(_long(chance, 3, 10_000))
    worker.set_clock(0.0)


async def _without(path: Path, chance: random.Random, change: Callable[[], object]) -> None:
    kept_content = path.read_bytes() if path.exists() else b""
    if not kept_content or path.with_name(path.name + ".away").exists():  # it is away already
        return
    path.with_name(path.name + ".away").touch()
    change()
    await asyncio.sleep(_long(chance, 5, 5000))
    path.write_bytes(kept_content)
    path.chmod(0o600)
    path.with_name(path.name + ".away").unlink()


async def key_file(around: Around, chance: random.Random) -> None:
    """Empty or remove the file of the signing key, and put it back later."""
    path = around.market.rail.folder / "signing_key.pem"
    await _without(path, chance, chance.choice((lambda: path.write_bytes(b""), path.unlink)))


async def trusted_file(around: Around, chance: random.Random) -> None:
    """Empty, remove or garble the file of trusted keys, and put it back later."""
    path = around.market.rail.trusted
    changes = (lambda: path.write_bytes(b""), path.unlink, lambda: path.write_bytes(b'{"kid": '))
    await _without(path, chance, chance.choice(changes))


async def reorganisation(around: Around, chance: random.Random) -> None:
    """Let Solana undo the next payments before they are final, or Base."""
    base = _base(around)
    if base is not None and chance.random() < 0.5:
        base.undoes += chance.randrange(1, 4)
        return
    chain = around.market.rail.chains.get("solana_mainnet")
    if isinstance(chain, Solana):
        chain.undoes += chance.randrange(1, 4)
    await asyncio.sleep(0)


async def withhold(around: Around, chance: random.Random) -> None:
    """Let Base leave what is sent next in its pool for a while, or lose it."""
    base = _base(around)
    if base is None:
        return
    name = chance.choice(("withhold", "reject_late"))
    base.ledger.faults.arm(name, seed=0, count=chance.choice((1, 2, 3, 500)))
    await asyncio.sleep(_long(chance, 5, 20_000))
    base.ledger.faults.arm(name, seed=0, count=0)
    base.ledger.pool.release()


async def dear(around: Around, chance: random.Random) -> None:
    """Let a unit of Base's gas cost much more for a while."""
    base = _base(around)
    if base is None or base.is_dear:
        return
    base.set_fee(chance.choice((2, 5, 40)))
    await asyncio.sleep(_long(chance, 5, 3000))
    base.set_fee(1)


async def overtaken(around: Around, chance: random.Random) -> None:
    """Let a stranger use what a payer has authorized on Base lately."""
    base = _base(around)
    if base is not None:
        base.overtake(chance)
    await asyncio.sleep(0)


async def cancel(around: Around, chance: random.Random) -> None:
    """Let a payer take back what he has authorized on Base lately."""
    base = _base(around)
    if base is not None:
        base.cancel(chance)
    await asyncio.sleep(0)


async def receiver(around: Around, chance: random.Random) -> None:
    """Let a tenant's receiver of webhooks be away or slow for a while, or the death of who calls it."""
    if around.receivers:
        receiver = chance.choice(around.receivers)
        receiver.mood = chance.choice(MOODS)
        await asyncio.sleep(_long(chance, 5, 40_000))
        receiver.mood = "well"


async def lock(around: Around, chance: random.Random) -> None:
    """Let a stranger's transaction hold the database's file for a while."""
    files = [around.market.rail.folder / "rail.sqlite3"]
    if around.shop is not None:
        files.append(around.shop.gateway.folder / "gateway.sqlite3")
    files = [path for path in files if path.exists()]
    if not files:
        return
    stranger = sqlite3.connect(chance.choice(files), isolation_level=None, timeout=0)
    try:
        stranger.execute("BEGIN IMMEDIATE")
        await asyncio.sleep(_long(chance, 0.1, 600))
    except sqlite3.OperationalError:  # another stranger has it
        return
    finally:
        stranger.close()


async def idle(around: Around, chance: random.Random) -> None:
    """Let days pass."""
    del around, chance
    await asyncio.sleep(0)
