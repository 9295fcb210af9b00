"""`weldproof selftest --generated`: mutants made by rule, by a program of the checkout."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from conformance.cli.usage import UsageFault

_CHECKOUT = Path(__file__).parents[2]
_PROGRAM = "tools.mutation"


def against_generated(
    ids: Sequence[str],
    part: str | None,
    seed: int,
    options: Mapping[str, Any],
    *,
    as_json: bool,
    only_list: bool,
    checkout: Path = _CHECKOUT,
) -> NoReturn:
    """Become the program that makes mutants and tries them; its exit codes are those of `weldproof selftest`.

    Args:
        ids: Ids, or patterns of ids.
        part: `I/N`, or None.
        seed: Seed of the sample and of the runs.
        options: Options of the command by name.
        as_json: Whether the result is printed as JSON.
        only_list: Whether the mutants are only listed.
        checkout: Folder that holds the program; the wheel has none.

    Raises:
        UsageFault: There is no such program.
    """
    if not (checkout / _PROGRAM.replace(".", "/")).is_dir():
        raise UsageFault("--generated makes its mutants of the reference's source with tools/: run from a checkout")
    words = [word for one in (*ids, *options["only"]) for word in ("--only", one)]
    given = {"--shard": part, "--seed": seed, "--sample": options["sample"], "--stack": options["stack"]}
    # The program starts in the checkout, wherever this command was called.
    given["--folder"] = None if options["folder"] is None else options["folder"].resolve()
    words += [word for name, value in given.items() if value is not None for word in (name, str(value))]
    flags = {"--json": as_json, "--list": only_list, "--whole": options["whole"], "--again": options["again"]}
    words += [name for name, is_given in flags.items() if is_given]
    os.chdir(checkout)
    os.execv(sys.executable, [sys.executable, "-m", _PROGRAM, *words])  # noqa: S606 - our own program
