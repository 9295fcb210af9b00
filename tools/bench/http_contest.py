"""Servers in turn under the same load: CPU time of each one's process group, divided by the requests it answered."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from programs.missing import Missing
from programs.node import node
from tools.bench import goals, load, peer_home, servers
from tools.bench.peer_home import PEERS
from tools.bench.process_cpu_time import pin_to, server_and_client
from tools.bench.ratios import Contender, Job
from tools.bench.servers import Server

PATH = "/pay/v1/verify/receipt"
# What everybody is asked without paying. A paid call of ours brings a receipt to verify; the peers' is as long.
_UNPAID = b'{"jws":"e30.e30.AA"}'
_AS_LONG_AS_OURS = b'{"jws":"%b"}' % (b"A" * 1400)
_WARM_UP = 64
_MICRO = 1_000_000

Say = Callable[[str], None]


@dataclass
class Entrant:
    """One server that takes part.

    Attributes:
        name: Its name.
        role: `ours`, `floor` or `peer`.
        server: The process.
        status: What it answers.
        requests: What it is asked, for ever or until its payments run out.
        count: Requests a round.
        rounds: CPU microseconds a request, by round.
    """

    name: str
    role: str
    server: Server
    status: int
    requests: Iterator[bytes]
    count: int = _WARM_UP
    rounds: list[float] = field(default_factory=list)

    def calibrate(self, seconds: float, most: int) -> None:
        """Warm the server up and find how many requests fill a round."""
        self._cost()
        cost = self._cost()
        while cost * self.count < seconds / 8 * _MICRO and self.count * 4 <= most:
            self.count *= 4
            cost = self._cost()
        self.count = max(_WARM_UP, min(most, round(seconds * _MICRO / cost) if cost else most))

    def measure(self) -> None:
        """Add a round."""
        self.rounds.append(self._cost())

    def _cost(self) -> float:
        before = self.server.seconds()
        requests = itertools.islice(self.requests, self.count)
        try:
            answer_count = asyncio.run(load.send_all(self.server.port, requests, self.status))
        except (load.LoadFault, OSError) as fault:
            raise load.LoadFault(f"{self.name}: {fault}") from fault
        if answer_count != self.count:
            raise load.LoadFault(f"{self.name}: {answer_count} of {self.count} requests were answered")
        return (self.server.seconds() - before) / answer_count * _MICRO


@dataclass(frozen=True)
class Plan:
    """How an HTTP contest is run.

    Attributes:
        rounds: Rounds that count.
        seconds: CPU seconds that each server works in a round, at the most.
        folder: Where servers keep what they write.
        say: Called with a line for each step.
    """

    rounds: int
    seconds: float
    folder: Path
    say: Say


class Arena:
    """The servers of one contest, started on demand and ended together."""

    def __init__(self, plan: Plan, exits: ExitStack) -> None:
        self.plan = plan
        self._exits = exits
        self._processors = server_and_client()[0]

    def ours(self, server: str, *, app: str = "rail", proofs: int = 0) -> tuple[Server, Path]:
        """Start the rail in memory, or a hello, on a server; the folder holds what it wrote."""
        folder = self.plan.folder / f"{app}-{server}"
        words = [sys.executable, "-m", "tools.bench.reference", "serve", app, "--server", server, "--fd", "{fd}"]
        words += ["--folder", str(folder), "--proofs", str(proofs)]
        path = {"PYTHONPATH": self._path()} if server == "granian" else {}
        return self._start(words, folder, path), folder

    def _path(self) -> str:
        """Return the module path that adds granian to our own environment."""
        servers_path = str(peer_home.python_home(self.plan.say).servers)
        return os.pathsep.join(filter(None, (servers_path, os.environ.get("PYTHONPATH", ""))))

    def x402(self, server: str) -> Server:
        """Start the x402 middleware for FastAPI."""
        home = peer_home.python_home(self.plan.say)
        words = [str(home.python), str(PEERS / "x402_app.py"), server, "{fd}"]
        return self._start(words, self.plan.folder / f"x402-{server}", {})

    def hono(self) -> Server:
        """Start the x402 middleware for Hono."""
        home = peer_home.node_home(self.plan.say)
        return self._start([str(node().path), str(home / "x402_hono.mjs"), "{fd}"], self.plan.folder / "hono", {})

    def _start(self, words: Sequence[str], folder: Path, environment: dict[str, str]) -> Server:
        program = servers.run_server(words, folder=folder, processors=self._processors, environment=environment)
        server = self._exits.enter_context(program)
        servers.await_ready(server)
        return server


Entry = Callable[[Arena], list[Entrant]]


def challenges() -> list[Entry]:
    """Return who answers unpaid calls."""

    def ours(arena: Arena, server: str, name: str, quart_name: str = "") -> list[Entrant]:
        process, _ = arena.ours(server)
        through = load.request("POST", PATH, _UNPAID, {"PAYMENT-SIGNATURE": "e30="})
        unpaid = Entrant(name, "ours", process, 402, itertools.repeat(load.request("POST", PATH, _UNPAID)))
        return [unpaid, *([Entrant(quart_name, "ours", process, 402, itertools.repeat(through))] if quart_name else [])]

    def peer(name: str, start: Callable[[Arena], Server]) -> Entry:
        unpaid = load.request("POST", PATH, _UNPAID)
        return lambda arena: [Entrant(name, "peer", start(arena), 402, itertools.repeat(unpaid))]

    def enter_prepared_answer(server: str, name: str) -> Entry:
        def start(arena: Arena) -> list[Entrant]:
            process, _ = arena.ours(server, app="prepared")
            return [Entrant(name, "floor", process, 402, itertools.repeat(load.request("POST", PATH, _UNPAID)))]

        return start

    def hello(arena: Arena) -> list[Entrant]:
        requests = itertools.repeat(load.request("GET", "/"))
        return [Entrant(goals.HELLO_HYPERCORN, "floor", arena.ours("hypercorn", app="hello")[0], 200, requests)]

    return [
        lambda arena: ours(arena, "hypercorn", goals.HYPERCORN, "weldproof, through Quart / Hypercorn"),
        lambda arena: ours(arena, "uvicorn", goals.UVICORN, goals.QUART_UVICORN),
        lambda arena: ours(arena, "granian", goals.GRANIAN),
        peer(goals.X402_UVICORN, lambda arena: arena.x402("uvicorn")),
        peer(goals.X402_HYPERCORN, lambda arena: arena.x402("hypercorn")),
        peer(goals.HONO, Arena.hono),
        enter_prepared_answer("hypercorn", "the same bytes, prepared / Hypercorn"),
        enter_prepared_answer("uvicorn", "the same bytes, prepared / uvicorn"),
        enter_prepared_answer("granian", "the same bytes, prepared / granian"),
        hello,
    ]


def paid_calls(plan: Plan) -> list[Entry]:
    """Return who answers paid calls; ours get a payment of its own for each call."""
    stock = _most(plan) * (plan.rounds + 2)

    def ours(server: str, name: str) -> Entry:
        def start(arena: Arena) -> list[Entrant]:
            process, folder = arena.ours(server, proofs=stock)
            body = (folder / "body").read_bytes()
            proofs = (folder / "proofs").read_text("ascii").splitlines()
            requests = (load.request("POST", PATH, body, {"X-PAYMENT": proof}) for proof in proofs)
            return [Entrant(name, "ours", process, 200, requests)]

        return start

    def peer(name: str, server: str) -> Entry:
        def start(arena: Arena) -> list[Entrant]:
            process = arena.x402(server)
            payment_header = {"PAYMENT-SIGNATURE": x402_payment(process.port, _AS_LONG_AS_OURS)}
            request = load.request("POST", PATH, _AS_LONG_AS_OURS, payment_header)
            return [Entrant(name, "peer", process, 200, itertools.repeat(request))]

        return start

    return [
        ours("hypercorn", goals.HYPERCORN),
        ours("uvicorn", goals.UVICORN),
        ours("granian", goals.GRANIAN),
        peer(goals.X402_UVICORN, "uvicorn"),
        peer(goals.X402_HYPERCORN, "hypercorn"),
    ]


def _most(plan: Plan) -> int:
    """Return how many requests a round has at the most, where each needs a payment: such as cost 500 microseconds."""
    return max(_WARM_UP, round(plan.seconds * 2000))


def x402_payment(port: int, body: bytes) -> str:
    """Return a stock x402 payment of what a server asks, with an authorization that only a stub would take."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{PATH}", body, {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310 - same
    except urllib.error.HTTPError as answer:
        requirements = json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))
    else:
        raise load.LoadFault("an unpaid call was served")
    offer: dict[str, Any] = requirements["accepts"][0]
    authorization = {
        "from": "0x" + "22" * 20,
        "to": offer["payTo"],
        "value": offer["amount"],
        "validAfter": "0",
        "validBefore": "9999999999",
        "nonce": "0x" + "44" * 32,
    }
    payload = {"signature": "0x" + "11" * 65, "authorization": authorization}
    envelope = {"x402Version": 2, "resource": requirements.get("resource"), "accepted": offer, "payload": payload}
    return base64.b64encode(json.dumps(envelope).encode()).decode()


def contest(job: str, plan: Plan) -> Job:
    """Run the contest `challenge-http` or `paid-http`; a peer that is missing here is named, and the rest goes on.

    Raises:
        LoadFault: One of ours did not start or answered wrongly.
    """
    entries = challenges() if job == "challenge-http" else paid_calls(plan)
    most = sys.maxsize if job == "challenge-http" else _most(plan)
    with ExitStack() as exits, pin_to(server_and_client()[1]):
        arena = Arena(plan, exits)
        entrants: list[Entrant] = []
        missing_peers: dict[str, None] = {}
        for entry in entries:
            try:
                entrants += entry(arena)
            except Missing as missing:
                missing_peers[str(missing)] = None
        for text in missing_peers:
            plan.say(f"{job}: some peers are left out: {text}")
        for entrant in entrants:
            entrant.calibrate(plan.seconds, most)
        for number in range(plan.rounds):
            plan.say(f"{job}: round {number + 1} of {plan.rounds}")
            for entrant in entrants:
                entrant.measure()
    return Job(job, tuple(Contender(one.name, one.role, tuple(one.rounds)) for one in entrants))
