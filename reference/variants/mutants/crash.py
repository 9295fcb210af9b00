"""Mutants that crash: the process kills itself with SIGKILL once, at one point of a redemption.

They break no rule. They show that the unchanged code keeps P-ST-06: after a crash at any moment, the same proof gets
one receipt for one price.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from reference.lanes.base.lane import BaseLane
from reference.protocol import eip3009, weld
from reference.rail.claims.prepared_answer import PreparedAnswer
from reference.store.a2a_tasks import Tasks
from reference.store.redemptions import Redemptions
from reference.store.settlements import Settlements
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

MARKER_VARIABLE = "WELDPROOF_CRASH_MARKER"


def die_once() -> None:
    """Kill this process as a power cut would, unless the marker file says that it happened before.

    Raises:
        KeyError: The environment does not name the marker file.
    """
    try:
        # O_EXCL creates the marker atomically: of several processes exactly one dies, and the restarted service
        # does not die again.
        os.close(os.open(Path(os.environ[MARKER_VARIABLE]), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    # SIGKILL runs no handlers and flushes nothing, like a power cut.
    os.kill(os.getpid(), signal.SIGKILL)


def _after_seen(module: ModuleType, rule: str) -> Callable[[], None]:
    """Return a function that lets the process die after a judgement has found the payment on the chain."""

    def die_after_judge(judge: Callable[..., Any]) -> Callable[..., Any]:
        def judge_and_die(*args: Any, **kwargs: Any) -> Any:
            payment = judge(*args, **kwargs)
            if payment is not None:
                die_once()
            return payment

        return judge_and_die

    return lambda: replace(module, rule, die_after_judge)


def _after(owner: type, step: str, *, without_effect: object = False) -> Callable[[], None]:
    """Return a function that lets the process die after a step, unless the step had no effect."""

    def die_after_step(call: Callable[..., Any]) -> Callable[..., Any]:
        async def run_and_die(*args: Any, **kwargs: Any) -> Any:
            result = await call(*args, **kwargs)
            if result is not without_effect:
                die_once()
            return result

        return run_and_die

    return lambda: replace(owner, step, die_after_step)


def _after_paid() -> None:
    """Mark payments separately from their answer, and let the process die after that."""
    # Normally one database transaction marks the payment and stores the answer, so that the moment between them
    # does not exist.
    replace(PreparedAnswer, "answers", lambda _: lambda *_: False)
    _after(Redemptions, "mark_paid", without_effect=None)()


def _after_stored() -> None:
    for step in ("spend", "mark_paid_and_spend"):
        _after(Redemptions, step)()


def _before(owner: type, step: str) -> Callable[[], None]:
    """Return a function that lets the process die before a step."""

    def die_before_step(call: Callable[..., Any]) -> Callable[..., Any]:
        async def die_and_run(*args: Any, **kwargs: Any) -> Any:
            die_once()
            return await call(*args, **kwargs)

        return die_and_run

    return lambda: replace(owner, step, die_before_step)


MUTANTS = (
    Mutant(
        "crash-after-seen",
        "dies when the chain has shown the payment, before it is marked paid",
        _after_seen(weld, "judge"),
    ),
    Mutant(
        "crash-after-paid",
        "dies when the payment is marked paid, before the service runs",
        _after_paid,
    ),
    Mutant("crash-after-stored", "dies when the answer is stored, before it is sent", _after_stored),
    Mutant(
        "crash-after-reserved",
        "dies when a settlement has its nonce and is written down, before it is sent",
        _after(Settlements, "reserve"),
    ),
    Mutant("crash-after-sent", "dies when a settlement is sent, before it is looked for", _after(BaseLane, "send")),
    Mutant(
        "crash-after-settled",
        "dies when a settlement is mined and final, before the payment is marked paid",
        _after_seen(eip3009, "settling_transfer"),
    ),
    Mutant(
        "crash-before-task",
        "dies when the answer to a payment by A2A is stored, before the task is completed with it",
        _before(Tasks, "replace"),
    ),
    Mutant("crash-after-task", "dies when the task is completed, before the answer is sent", _after(Tasks, "replace")),
)
