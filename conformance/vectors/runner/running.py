"""One run of a verifier over vectors: greeted, asked in an order that the seed decides, started again after a fault."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.vectors import FamilyInfo, Vector
from conformance.vectors.runner.child import Child, Crashed, Ending, NotStarted, Silent
from conformance.vectors.runner.judging import Outcome, Result, judged
from conformance.vectors.runner.protocol import Hello, Nonsense, answer_of, greeting, hello_of, question

FAILURES_IN_A_ROW: Final = 10
_FAILED: Final[Mapping[type[Exception], Outcome]] = {
    NotStarted: Outcome.CRASH,
    Crashed: Outcome.CRASH,
    Silent: Outcome.HANG,
    Nonsense: Outcome.NONSENSE,
}


class NothingJudged(Exception):
    """There is no verifier to ask: the command cannot be started, or does not greet. The text says why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run.

    Attributes:
        command: The verifier's command, word by word.
        families: Every family that a selected vector belongs to, by name.
        vectors: The selected vectors, in the order of the package.
        seed: Decides the order of the questions.
        seconds: How long an answer may take, and the exit at the end.
        start_seconds: How long the greeting may take.
    """

    command: tuple[str, ...]
    families: Mapping[str, FamilyInfo]
    vectors: tuple[Vector, ...]
    seed: int
    seconds: float = 10.0
    start_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it.

    Attributes:
        hello: What the verifier said of itself.
        results: A result a vector, in the order of the package; fewer where the run was interrupted.
        ending: How the verifier went.
        starts: How often it was started.
        gave_up: Whether it failed so often in a row that the rest was not asked.
        interrupted: Whether the run was cut short.
    """

    hello: Hello
    results: tuple[Result, ...]
    ending: Ending
    starts: int
    gave_up: bool
    interrupted: bool


@dataclass(slots=True)
class Runner:
    """Asks one verifier everything in a plan.

    Attributes:
        plan: What is to be run.
        told: Is called with each result as it comes.
    """

    plan: Plan
    told: Callable[[Result], None] = lambda _: None
    _child: Child | None = None
    _starts: int = 0
    _failures: int = 0
    _results: dict[str, Result] = field(default_factory=dict)

    async def run(self) -> Run:
        """Ask everything; a cancellation ends the run early and is told in what is returned.

        Raises:
            NothingJudged: The command cannot be started, or does not greet.
            asyncio.CancelledError: Cancelled before the greeting.
        """
        try:
            hello = await self._greeted()
        except (NotStarted, Crashed, Silent, Nonsense) as fault:
            raise NothingJudged(f"no greeting: {fault}") from fault
        finally:
            if not self._starts:
                await self._stop()
        interrupted = False
        ending = Ending(clean=True)
        try:
            for n, vector in enumerate(self._order(hello), 1):
                self._note(await self._result(n, vector))
            if self._child is not None:
                ending = await self._child.finished(self.plan.seconds)
        except asyncio.CancelledError:
            interrupted = True
        finally:
            await self._stop()
        results = tuple(self._results[one.id] for one in self.plan.vectors if one.id in self._results)
        return Run(hello, results, ending, self._starts, self._failures >= FAILURES_IN_A_ROW, interrupted)

    def _order(self, hello: Hello) -> Sequence[Vector]:
        claimed = []
        for vector in self.plan.vectors:
            if vector.family in hello.families:
                claimed.append(vector)
            else:
                detail = "the verifier does not name this family"
                self._note(Result(vector, Outcome.UNSUPPORTED, detail=detail, asked=False))
        random.Random(self.plan.seed).shuffle(claimed)  # noqa: S311 - an order that can be repeated
        return claimed

    def _note(self, result: Result) -> None:
        self._results[result.vector.id] = result
        self.told(result)

    async def _result(self, n: int, vector: Vector) -> Result:
        if self._failures >= FAILURES_IN_A_ROW:
            detail = f"not asked: the command had failed {FAILURES_IN_A_ROW} times in a row"
            return Result(vector, Outcome.CRASH, detail=detail, asked=False)
        again = "" if self._child is not None else "started again, "
        try:
            if self._child is None:
                await self._greeted()
            again = ""
            answer = answer_of(await self._asked(question(n, vector.family, vector.input)), n)
        except Nonsense as fault:
            if again or not fault.in_step:
                await self._failed()
            else:
                self._failures = 0
            return Result(vector, Outcome.NONSENSE, detail=f"{again}{fault}")
        except (NotStarted, Crashed, Silent) as fault:
            await self._failed()
            return Result(vector, _FAILED[type(fault)], detail=f"{again}{fault}")
        self._failures = 0
        return judged(vector, self.plan.families[vector.family], answer)

    async def _asked(self, line: bytes) -> bytes:
        assert self._child is not None  # noqa: S101 - it was greeted
        return await self._child.asked(line, self.plan.seconds)

    async def _greeted(self) -> Hello:
        self._child = await Child.started(self.plan.command)
        hello = hello_of(await self._child.asked(greeting(self.plan.families), self.plan.start_seconds))
        self._starts += 1
        return hello

    async def _failed(self) -> None:
        self._failures += 1
        await self._stop()

    async def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.killed()
