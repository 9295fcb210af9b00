"""`weldproof selftest --generated`: runs the program of a checkout that generates mutants from the source."""

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
    """Replace this process by the program that generates and runs mutants, with the same exit codes.

    Args:
        patterns: Patterns of ids or of `FILE:LINE`; without any, all mutants.
        options: Value of each option of the program, by its name; None or False if it was not given.
        checkout: Folder that contains the program; the wheel does not.

    Raises:
        UsageFault: The program does not exist there.
    """
    if not (checkout / _PROGRAM.replace(".", "/")).is_dir():
        raise UsageFault("--generated needs the reference's source and tools/: run it in a checkout")
    words = ["generated", *patterns]
    for name, value in options.items():
        if value is None or value is False:
            continue
        # The program starts in the checkout, so a relative path is resolved here first.
        text = str(value.resolve() if isinstance(value, Path) else value)
        words += [f"--{name}"] if value is True else [f"--{name}", text]
    os.chdir(checkout)
    os.execv(sys.executable, [sys.executable, "-m", _PROGRAM, *words])  # noqa: S606 - our own program
