"""Several workers of one rail on one PostgreSQL, and clients that buy from all of them while some are killed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.reference.rail.base_stack import BasePayer
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Payer, Rail, SimulatedChain, header, proof_of

PATIENCE_SECONDS = 300.0
WORK = {"WP_RAIL_LEASE_SECONDS": "1", "WP_CHAIN_POLL_SECONDS": "0.1"}


@contextmanager
def fleet(
    chain: SimulatedChain, folder: Path, pay_to: str, count: int, settings: dict[str, str]
) -> Iterator[list[Rail]]:
    """Run workers that share keys, secrets and database; `settings` names the database and the lanes."""
    shared = WORK | {"WP_RAIL_DATA_DIR": str(folder / "shared"), **settings}
    workers = [Rail(chain, folder / f"worker{at}", pay_to, dict(shared)) for at in range(count)]
    for worker in workers:
        worker.settings["WP_RAIL_PUBLIC_URL"] = workers[0].public_url
    workers[0].start()
    for worker in workers[1:]:
        worker.launch()
    try:
        for worker in workers[1:]:
            worker.await_health()
        yield workers
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
            worker.http.close()
            worker.socket.close()


@dataclass
class Shopping:
    """Clients that each buy once, with one proof, from whichever worker answers.

    Attributes:
        workers: Where they buy.
        algorand: Who pays on Algorand.
        base: Who pays on Base; purchases take turns among all payers.
        seed: What decides who is asked and who is killed.
        kills: So many workers are killed, evenly over the purchases, while others are at work.
    """

    workers: list[Rail]
    algorand: list[Payer]
    base: list[BasePayer]
    seed: int
    kills: int = 0
    presented: int = 0
    killed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _killers: list[threading.Thread] = field(default_factory=list)

    def buy(self, count: int, *, at_once: int) -> list[httpx.Response]:
        """Return the answers of `count` purchases."""
        rng = random.Random(self.seed)
        due = {round((at + 0.5) * count / self.kills) for at in range(self.kills)}
        orders = [(random.Random(rng.random()), at in due) for at in range(count)]
        with ThreadPoolExecutor(at_once) as clients:
            answers = list(clients.map(lambda order: self._shop_once(*order), orders))
        for killer in self._killers:  # a late one must not start a worker that is never ended
            killer.join()
        return answers

    def _shop_once(self, rng: random.Random, fatal: bool) -> httpx.Response:
        payers: list[Payer | BasePayer] = [*self.algorand, *self.base]
        payer = rng.choice(payers)
        with httpx.Client(trust_env=False, timeout=30) as http:
            lane = "algorand" if isinstance(payer, Payer) else "eip155"
            reply = self._until(
                rng,
                lambda url: http.post(url + COMPLIANCE, json=COMPLIANCE_BODY),
                lambda answer: answer.status_code == 402,
            )
            entry = next(one for one in reply.json()["accepts"] if one["network"].startswith(lane))
            proof: Any = proof_of(payer.pay(entry), entry) if isinstance(payer, Payer) else payer.authorize(entry)
            headers = {"X-PAYMENT": header(proof)}
            if fatal:
                self._kill_soon(rng)
            return self._until(
                rng,
                lambda url: http.post(url + COMPLIANCE, json=COMPLIANCE_BODY, headers=headers),
                _is_decided,
            )

    def _until(
        self, rng: random.Random, ask: Callable[[str], httpx.Response], is_final: Callable[[httpx.Response], bool]
    ) -> httpx.Response:
        """Ask one worker after another, the dead among them, until one gives a final answer."""
        deadline, last = time.monotonic() + PATIENCE_SECONDS, "nothing"
        while time.monotonic() < deadline:
            try:
                answer = ask(rng.choice(self.workers).url)
            except httpx.TransportError as fault:
                last = repr(fault)
                continue
            if is_final(answer):
                return answer
            last = f"{answer.status_code} {answer.text[:200]}"
            time.sleep(0.05)
        raise AssertionError(f"no worker gave a final answer in time; the last was {last}")

    def _kill_soon(self, rng: random.Random) -> None:
        """Kill a worker within the time that a purchase takes, and start another in its place at once."""
        worker, delay = rng.choice(self.workers), rng.random() * 0.3

        def kill() -> None:
            time.sleep(delay)
            with self._lock:
                worker.process.kill()
                worker.process.wait()
                self.killed += 1
                worker.launch()

        killer = threading.Thread(target=kill, daemon=True)
        self._killers.append(killer)
        killer.start()


def _is_quoted(answer: httpx.Response) -> bool:
    return answer.status_code == 402


def _is_decided(answer: httpx.Response) -> bool:
    return "Retry-After" not in answer.headers and answer.status_code < 500
