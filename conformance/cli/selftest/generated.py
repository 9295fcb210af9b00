"""`weldproof selftest --generated`: mutants made by rule, by a program of the checkout."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from conformance.cli.usage import UsageFault

_CHECKOUT: Final = Path(__file__).parents[3]
_PROGRAM: Final = "tools.mutants"


def against_generated(
    patterns: Sequence[str], options: Mapping[str, str | int | bool | Path | None], checkout: Path = _CHECKOUT
) -> NoReturn:
    """Become the program that makes mutants and runs them; its exit codes are those of `weldproof selftest`.

    Args:
        patterns: Patterns of ids or of `FILE:LINE`; without any, all mutants.
        options: Value of each option of the program, by its name; None or False if it was not given.
        checkout: Folder that contains the program; the wheel does not.

    Raises:
        UsageFault: There is no such program.
    """
    if not (checkout / _PROGRAM.replace(".", "/")).is_dir():
        raise UsageFault("--generated makes its mutants of the reference's source with tools/: run from a checkout")
    words = ["generated", *patterns]
    for name, value in options.items():
        if value is None or value is False:
            continue
        # The program starts in the checkout, wherever this command was called.
        text = str(value.resolve() if isinstance(value, Path) else value)
        words += [f"--{name}"] if value is True else [f"--{name}", text]
    os.chdir(checkout)
    os.execv(sys.executable, [sys.executable, "-m", _PROGRAM, *words])  # noqa: S606 - our own program
