"""`weldproof selftest --generated`: mutants made by rule, by a program of the checkout."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from conformance.cli.usage import UsageFault

_CHECKOUT = Path(__file__).parents[3]
_PROGRAM = "tools.mutants"


@dataclass(frozen=True, slots=True)
class GeneratedChoice:
    """Which mutants made by rule are tried.

    Attributes:
        ids: Ids, or patterns of ids.
        only: Further patterns of ids, or `FILE:LINE`.
        part: `I/N`, or None.
        seed: Seed of the sample and of the runs.
        sample: How many the seed chooses; None means all.
        stack: Name of the stack to run, such as `gateway`; None means the default of the program.
        folder: Where results are kept; None means the default of the program.
    """

    ids: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    part: str | None = None
    seed: int = 1
    sample: int | None = None
    stack: str | None = None
    folder: Path | None = None


def against_generated(
    choice: GeneratedChoice,
    *,
    as_json: bool,
    only_list: bool,
    whole: bool,
    again: bool,
    checkout: Path = _CHECKOUT,
) -> NoReturn:
    """Become the program that makes mutants and tries them; its exit codes are those of `weldproof selftest`.

    Args:
        choice: The mutants.
        as_json: Whether the result is printed as JSON.
        only_list: Whether the mutants are only listed.
        whole: Whether a mutant is judged by every requirement that reaches it, even after one failed.
        again: Whether only mutants are tried that were caught before.
        checkout: Folder that holds the program; the wheel has none.

    Raises:
        UsageFault: There is no such program.
    """
    if not (checkout / _PROGRAM.replace(".", "/")).is_dir():
        raise UsageFault("--generated makes its mutants of the reference's source with tools/: run from a checkout")
    words = ["generated", *choice.ids, *choice.only]
    given: dict[str, object] = {
        "--shard": choice.part,
        "--seed": choice.seed,
        "--sample": choice.sample,
        "--stack": choice.stack,
    }
    # The program starts in the checkout, wherever this command was called.
    given["--folder"] = None if choice.folder is None else choice.folder.resolve()
    words += [word for name, value in given.items() if value is not None for word in (name, str(value))]
    flags = {"--json": as_json, "--list": only_list, "--whole": whole, "--again": again}
    words += [name for name, is_given in flags.items() if is_given]
    os.chdir(checkout)
    os.execv(sys.executable, [sys.executable, "-m", _PROGRAM, *words])  # noqa: S606 - our own program
