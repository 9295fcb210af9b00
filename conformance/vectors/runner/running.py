"""One run of a verifier over vectors: greeting, questions in the order of the seed, restart after a fault."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.vectors import FamilyInfo, Vector
from conformance.vectors.runner.child import Child, CrashedVerifier, Ending, NotStarted, SilentVerifier
from conformance.vectors.runner.judging import Outcome, Result, judge_answer
from conformance.vectors.runner.protocol import (
    Hello,
    Nonsense,
    encode_greeting,
    encode_question,
    parse_answer,
    parse_hello,
)

# After so many failures in a row the command is broken, and each further start would cost seconds.
FAILURES_IN_A_ROW: Final = 10
# Each way in which a verifier fails to answer has an outcome, so that its vector has a result and the run goes on.
_FAULT_OUTCOMES: Final[Mapping[type[Exception], Outcome]] = {
    NotStarted: Outcome.CRASH,
    CrashedVerifier: Outcome.CRASH,
    SilentVerifier: Outcome.HANG,
    Nonsense: Outcome.NONSENSE,
}


class NothingJudged(Exception):
    """No verifier: the command cannot be started, or gives no greeting. The text contains the reason."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run.

    Attributes:
        command: The verifier's command, word by word.
        families: Every family that a selected vector belongs to, by name.
        vectors: The selected vectors, in the order of the package.
        seed: The seed of the questions' order.
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
    """The result of a run.

    Attributes:
        hello: The greeting of the verifier.
        results: A result for each vector, in the order of the package; fewer if the run was interrupted.
        ending: The end of the verifier.
        starts: How often it was started.
        gave_up: Whether it failed so often in a row that the other vectors were not asked.
        interrupted: Whether the run was interrupted.
    """

    hello: Hello
    results: tuple[Result, ...]
    ending: Ending
    starts: int
    gave_up: bool
    interrupted: bool


@dataclass(slots=True)
class Runner:
    """Runner of a plan with one verifier.

    Attributes:
        plan: The plan.
        report_result: Called with each result.
    """

    plan: Plan
    report_result: Callable[[Result], None] = lambda _: None
    _child: Child | None = None
    _starts: int = 0
    _failures: int = 0
    _results: dict[str, Result] = field(default_factory=dict)

    async def ask_all(self) -> Run:
        """Ask all questions; a cancellation ends the run early, and the result reports it.

        Raises:
            NothingJudged: The command cannot be started, or gives no greeting.
            asyncio.CancelledError: Cancelled before the greeting.
        """
        try:
            hello = await self._start_child()
        except (NotStarted, CrashedVerifier, SilentVerifier, Nonsense) as fault:
            raise NothingJudged(f"no greeting: {fault}") from fault
        finally:
            if not self._starts:
                await self._stop()
        was_interrupted = False
        verifier_end = Ending(clean=True)
        try:
            for n, vector in enumerate(self._order(hello), 1):
                self._note(await self._result(n, vector))
            if self._child is not None:
                verifier_end = await self._child.finish(self.plan.seconds)
        except asyncio.CancelledError:
            was_interrupted = True
        finally:
            await self._stop()
        results = tuple(self._results[one.id] for one in self.plan.vectors if one.id in self._results)
        return Run(hello, results, verifier_end, self._starts, self._failures >= FAILURES_IN_A_ROW, was_interrupted)

    def _order(self, hello: Hello) -> Sequence[Vector]:
        claimed_vectors = []
        for vector in self.plan.vectors:
            if vector.family in hello.families:
                claimed_vectors.append(vector)
            else:
                detail = "the verifier does not name this family"
                # A family that the verifier never claimed is not a disagreement.
                self._note(Result(vector, Outcome.UNSUPPORTED, detail=detail, asked=False))
        # A verifier must not pass by the order of the questions, such as all valid ones first. The seed repeats an
        # order.
        random.Random(self.plan.seed).shuffle(claimed_vectors)  # noqa: S311 - an order that can be repeated
        return claimed_vectors

    def _note(self, result: Result) -> None:
        self._results[result.vector.id] = result
        self.report_result(result)

    async def _result(self, n: int, vector: Vector) -> Result:
        # The other vectors count as crashes, not as unsupported: a broken command must not look like a careful one.
        if self._failures >= FAILURES_IN_A_ROW:
            detail = f"not asked: the command had failed {FAILURES_IN_A_ROW} times in a row"
            return Result(vector, Outcome.CRASH, detail=detail, asked=False)
        again = "" if self._child is not None else "started again, "
        try:
            if self._child is None:
                await self._start_child()
            again = ""
            answer = parse_answer(await self._ask(encode_question(n, vector.family, vector.input)), n)
        except Nonsense as fault:
            # Out of step, the next line could answer this question instead of the next one: only a new process is
            # safe.
            if again or not fault.in_step:
                await self._count_failure()
            else:
                self._failures = 0
            return Result(vector, Outcome.NONSENSE, detail=f"{again}{fault}")
        except (NotStarted, CrashedVerifier, SilentVerifier) as fault:
            await self._count_failure()
            return Result(vector, _FAULT_OUTCOMES[type(fault)], detail=f"{again}{fault}")
        self._failures = 0
        return judge_answer(vector, self.plan.families[vector.family], answer)

    async def _ask(self, line: bytes) -> bytes:
        assert self._child is not None  # noqa: S101 - it was greeted
        return await self._child.ask(line, self.plan.seconds)

    async def _start_child(self) -> Hello:
        self._child = await Child.start(self.plan.command)
        hello = parse_hello(await self._child.ask(encode_greeting(self.plan.families), self.plan.start_seconds))
        self._starts += 1
        return hello

    async def _count_failure(self) -> None:
        self._failures += 1
        await self._stop()

    async def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.kill()
