"""`make chaos SECONDS=n SEED=s`: two workers of a rail on PostgreSQL behind nginx, while machines fail around them.

Payers buy at a steady rate on simulated Algorand and Base. The seed decides which worker is killed or stopped, when
PostgreSQL restarts or loses its connections, and which node lags or is away. Afterwards the chains and the receipts
alone are judged: no row of the database is read.
"""

from __future__ import annotations

import contextlib
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import click
import psycopg
from eth_account import Account
from sqlalchemy.engine import make_url

from tests.chaos.judging import Purchase, judge
from tests.chaos.payers import buy
from tests.chaos.schedule import Event, plan_events
from tests.reference.postgres_cluster import own_database, private_cluster, restart_cluster
from tests.reference.rail.base_stack import BasePayer, Settler, SimulatedBase, base_settings
from tests.reference.rail.fleet import fleet
from tests.reference.rail.rail_stack import USDC, Payer, Rail, SimulatedChain
from tests.reference.web.nginx_front import balanced_by_nginx

_WORKERS, _PAYERS, _AT_ONCE = 2, 4, 16
_LANES = "algorand_mainnet,base_mainnet"
# A worker is stopped for at most so long, which is longer than its lease.
_STOPPED_SECONDS = 4.0
_MOST_LAG, _LAG_SECONDS = 40, 3.0
_AWAY_ANSWERS = 60
_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


@dataclass(slots=True)
class Machines:
    """What a chaos run disturbs.

    Attributes:
        workers: The workers of the rail.
        nodes: The simulated nodes.
        server: Address of the maintenance database of the PostgreSQL server.
        database: Name of the rail's database.
        counts: How often each event happened.
    """

    workers: Sequence[Rail]
    nodes: Sequence[SimulatedChain | SimulatedBase]
    server: str
    database: str
    counts: Counter[str] = field(default_factory=Counter)

    def disturb(self, event: Event) -> None:
        """Carry out one event, to its end."""
        self.counts[event.kind] += 1
        if event.kind == "restart PostgreSQL":
            restart_cluster(self.server)
        elif event.kind == "cut the connections to PostgreSQL":
            with psycopg.connect(self.server, autocommit=True) as connection:
                connection.execute(_CUT, [self.database])
        elif event.kind == "kill a worker":
            worker = self.workers[event.place]
            worker.process.kill()
            worker.process.wait()
            worker.launch()
        elif event.kind == "stop a worker":
            process = self.workers[event.place].process
            process.send_signal(signal.SIGSTOP)
            time.sleep(event.size * _STOPPED_SECONDS)
            process.send_signal(signal.SIGCONT)
        elif event.kind == "let a node lag":
            node = self.nodes[event.place]
            node.control("lag", blocks=round(event.size * _MOST_LAG))
            time.sleep(event.size * _LAG_SECONDS)
            node.control("lag", blocks=0)
        else:
            self.nodes[event.place].control(
                "fault", name="unavailable", seed=1, count=round(event.size * _AWAY_ANSWERS)
            )

    def calm(self) -> None:
        """Let everything run again, and start a worker that has ended."""
        for node in self.nodes:
            node.calm()
        for worker in self.workers:
            if worker.process.poll() is not None:
                worker.launch()
            worker.await_health()


def follow(machines: Machines, events: Iterator[Event], start: float) -> None:
    """Carry out events at their times. One that takes long delays the next."""
    for event in events:
        time.sleep(max(0.0, start + event.second - time.monotonic()))
        machines.disturb(event)


@contextlib.contextmanager
def open_machines(folder: Path) -> Iterator[tuple[Machines, str, str, str]]:
    """Start everything, and yield it with the rail's address at nginx and its payees on Algorand and Base."""
    with contextlib.ExitStack() as exits:
        server = exits.enter_context(private_cluster(is_durable=True))
        database = exits.enter_context(own_database(server))
        algorand, base = SimulatedChain(), SimulatedBase()
        exits.callback(algorand.stop)
        exits.callback(base.stop)
        algorand_payee, base_payee = algorand.new_payee(), Account.create().address
        settings = base_settings(base, Settler(base, folder), base_payee, _LANES) | {
            "WP_RAIL_DB": database,
            "WP_RAIL_CONFIRM_WAIT": "5",
            "WP_RAIL_JOIN_WAIT": "5",
            "WP_RAIL_NODE_LOOK_SECONDS": "1",
        }
        workers = exits.enter_context(fleet(algorand, folder / "fleet", algorand_payee, _WORKERS, settings))
        ports = [worker.socket.getsockname()[1] for worker in workers]
        host, port = exits.enter_context(balanced_by_nginx(folder / "nginx", ports))
        name = str(make_url(database).database)
        machines = Machines(workers, [algorand, base], server, name)
        yield machines, f"http://{host}:{port}", algorand_payee, base_payee


def run(folder: Path, seconds: float, seed: int, rate: float, report: Callable[[str], None]) -> int:
    """Run chaos for some seconds, judge it, and return the number of violations."""
    with open_machines(folder) as (machines, url, algorand_payee, base_payee):
        algorand, base = machines.nodes
        assert isinstance(algorand, SimulatedChain)
        assert isinstance(base, SimulatedBase)
        payers: list[Payer | BasePayer] = [
            *(Payer(algorand) for _ in range(_PAYERS)),
            *(BasePayer(base) for _ in range(_PAYERS)),
        ]
        before = sum(_list_holdings(algorand, base, algorand_payee, base_payee))
        events = plan_events(seed, seconds, workers=_WORKERS, nodes=len(machines.nodes))
        start = time.monotonic()
        chaos = threading.Thread(target=follow, args=(machines, events, start))
        chaos.start()
        purchases: list[Purchase] = []
        with ThreadPoolExecutor(_AT_ONCE) as clients:
            futures: list[Future[Purchase]] = []
            while (now := time.monotonic()) < start + seconds:
                number = len(futures)
                futures.append(clients.submit(buy, url, payers[number % len(payers)], number))
                time.sleep(max(0.0, start + (number + 1) / rate - now))
            chaos.join()
            machines.calm()
            purchases = [future.result() for future in futures]
        machines.calm()
        received = sum(_list_holdings(algorand, base, algorand_payee, base_payee)) - before
        violations = judge(purchases, received, [worker.url for worker in machines.workers])
        took = sorted(purchase.seconds for purchase in purchases)
        report(f"seed {seed}, {seconds:.0f} s: {len(purchases)} purchases, {sum(machines.counts.values())} events")
        for kind, count in sorted(machines.counts.items()):
            report(f"  {kind}: {count}")
        report(
            f"  a purchase took {statistics.median(took):.1f} s (p50), {took[int(len(took) * 0.99)]:.1f} s (p99), "
            f"{sum(purchase.repeats for purchase in purchases)} repeats; {received} atomic units arrived"
        )
        for violation in violations:
            report(f"violation: {violation}")
        return len(violations)


def _list_holdings(
    algorand: SimulatedChain, base: SimulatedBase, algorand_payee: str, base_payee: str
) -> tuple[int, int]:
    """Return what the payees hold, in atomic units."""
    holding = algorand.client.account_asset_info(algorand_payee, USDC)
    return int(holding["asset-holding"]["amount"]), base.usdc_of(base_payee)  # type: ignore[call-overload]


@click.command()
@click.option("--seconds", type=click.FloatRange(1), default=60.0, show_default=True, help="Of disturbances.")
@click.option("--seed", type=int, default=1, show_default=True, help="Decides the disturbances.")
@click.option("--rate", type=click.FloatRange(0.1), default=2.0, show_default=True, help="Purchases a second.")
def main(seconds: float, seed: int, rate: float) -> None:
    """Disturb a rail for some seconds, and judge what its payers got."""
    with tempfile.TemporaryDirectory(prefix="weldproof-chaos-") as folder:
        violations = run(Path(folder), seconds, seed, rate, click.echo)
    click.echo(f"{violations} violations")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
