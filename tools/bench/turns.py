"""Programs that verify the same thing in turn: each is asked for one round at a time over its standard input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from programs.missing import Missing
from programs.node import node
from tools.bench import goals, peer_home
from tools.bench.peer_home import PEERS
from tools.bench.ratios import Contender, Job, join_parts, shares

_END_SECONDS = 10


class TurnFault(Exception):
    """A program did not answer as it should."""


class Program:
    """A running program: a line in, a cost out."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self._words = words
        self._process = subprocess.Popen(  # noqa: S603 - fixed words
            words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.first = self._read()

    def cost(self) -> float:
        """Return the CPU microseconds a job of one round."""
        assert self._process.stdin is not None  # noqa: S101 - always piped above
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except OSError as fault:
            raise TurnFault(f"{self._words[0]} has ended") from fault
        figure = self._read()
        if not isinstance(figure, int | float) or figure <= 0:
            raise TurnFault(f"{' '.join(self._words[:3])}: that is no cost: {figure!r}")
        return float(figure)

    def close(self) -> None:
        """End it by ending its input."""
        self._process.communicate(timeout=_END_SECONDS)

    def _read(self) -> object:
        assert self._process.stdout is not None  # noqa: S101 - always piped above
        try:
            figure: object = json.loads(self._process.stdout.readline())
        except json.JSONDecodeError as fault:
            raise TurnFault(f"{' '.join(self._words[:3])} did not answer") from fault
        return figure


def contest(job: str, *, rounds: int, seconds: float, folder: Path, say: Callable[[str], None]) -> Job:
    """Run one of the contests `goals.IN_TURNS`; every program is started again for each share of the rounds.

    Raises:
        TurnFault: Our side, or a peer that is installed, did not work.
    """
    try:
        peer: tuple[str, list[str]] | None = _peer(job.partition("-")[0], say)
    except Missing as missing:
        say(f"{job}: left out: {missing}")
        peer = None
    say(f"{job}: {rounds} rounds")
    return join_parts([_part(job, share, str(seconds), folder, peer) for share in shares(rounds)])


def _part(job: str, rounds: int, seconds: str, folder: Path, peer: tuple[str, list[str]] | None) -> Job:
    """Run a share of a contest's rounds, each program in one process."""
    kind = job.partition("-")[0]
    material_path = folder / f"{kind}.json"
    with ExitStack() as exits:

        def start(*words: str) -> Program:
            program = Program(words, folder)
            exits.callback(program.close)
            return program

        ours = start(sys.executable, "-m", "tools.bench.reference", "turns", kind, "--seconds", seconds)
        if not isinstance(ours.first, dict):
            raise TurnFault("our side did not say what is verified")
        material_path.write_text(json.dumps(ours.first["given"]), "utf-8")
        programs = [(goals.OURS, "ours", ours)]
        if job == "receipt-offline":
            suite = [sys.executable, "-m", "tools.bench.offline"]
            programs.insert(0, (goals.SUITE, "ours", start(*suite, "verifier", seconds, str(material_path))))
            programs.append(("cryptography", "floor", start(*suite, "cryptography", seconds, str(material_path))))
        if peer is not None:
            name, words = peer
            programs.append((name, "peer", start(*words, seconds, str(material_path))))
        costs = [[program.cost() for _, _, program in programs] for _ in range(rounds)]
    return Job(
        job,
        tuple(
            Contender(name, role, tuple(rounds_of_one))
            for (name, role, _), rounds_of_one in zip(programs, zip(*costs, strict=True), strict=True)
        ),
    )


def _peer(kind: str, say: Callable[[str], None]) -> tuple[str, list[str]]:
    """Return a peer's name and the words that start it, but for the seconds of a round and the file of what is given.

    Raises:
        Missing: It cannot be installed.
    """
    if kind == "receipt":
        script = peer_home.node_home(say) / "jose_turns.mjs"
        return "npm jose compactVerify", [str(node().path), str(script)]
    python = peer_home.python_home(say).python
    return "http-message-signatures", [str(python), str(PEERS / "message_turns.py")]
