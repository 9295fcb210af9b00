"""For every test: the interpreter's own bound on recursion, how Hypothesis draws and judges, and in which order.

py_ecc, which eth-account imports, raises the bound a hundredfold, beyond the size of the stack. Without the bound, the
order of imports would decide whether a test of deeply nested JSON ends the whole run. The product restores the bound.

Hypothesis draws the same examples in every run, so that a run fails for what was changed and not for its luck, and it
fails none for the time that it took: a busy machine holds up any call. `--hypothesis-profile explore` draws others.

Files whose tests wait, for programs, blocks and budgets, are spread over those that only compute, so that there is
always something to do for each processor; they are over before the others are, so that workers end together.
What collecting makes stays to the end: the collector of garbage waits meanwhile and never looks at it again. It would
look through fourteen thousand tests dozens of times, and each time that a test asks for it.

`--part 2/4` keeps the tests of a part, by their names: what is in one today is in it tomorrow.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import made_once

pytest_plugins = ("tests.forked_workers",)

gc.disable()
_LIMIT = sys.getrecursionlimit()
importlib.import_module("py_ecc")
sys.setrecursionlimit(_LIMIT)

_OF_THE_TERMINAL = (
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE"),
)
for _name in _OF_THE_TERMINAL:
    os.environ.pop(_name, None)
# The files of payments in tests are kept apart from the user's own data folder.
_DATA = tempfile.TemporaryDirectory(prefix="weldproof-tests-data-")
os.environ["XDG_DATA_HOME"] = _DATA.name

_UNHURRIED_SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("explore", _UNHURRIED_SETTINGS)
settings.register_profile("same", _UNHURRIED_SETTINGS, derandomize=True, database=None)
settings.load_profile("same")

made_once.install()

# Where tests wait, the longest files first; worlds wait for nothing, and one file of them takes a processor for long.
_WAITING_FILES = (
    "simulation",
    *("conformance/checks/control_plane", "conformance/checks/addons", "conformance/cli", "outside", "browser"),
    *("conformance/checks/webhooks", "conformance/fuzz", "conformance/determinism", "localnet", "reference/rail"),
    *("conformance/test_kept_by_node", "conformance/processes"),
    *(
        "reference/gateway",
        "sim/algorand",
        "tools/assertions",
        "tools/mutants",
        "tools/mutation",
        "reference/addons",
        "tools/bench",
        "differential",
        "reference/webhooks",
    ),
    *("reference/control_plane", "conformance/checks", "sim"),
)
_OVER_BY = 0.85


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--part`."""
    parser.addoption("--part", metavar="K/N", default="1/1", help="of the selected tests, those of part K of N")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the part that is asked for, in the order of their files."""
    wanted_part, parts = (int(number) for number in config.getoption("part").split("/"))
    if not 1 <= wanted_part <= parts:
        raise pytest.UsageError("--part: K is from 1 to N")
    part = {item: zlib.crc32(item.nodeid.partition("[")[0].encode()) % parts + 1 for item in items}
    config.hook.pytest_deselected(items=[item for item in items if part[item] != wanted_part])
    kept_items = [item for item in items if part[item] == wanted_part]
    place = _places(list(dict.fromkeys(item.path for item in kept_items)))
    items[:] = sorted(kept_items, key=lambda item: place[item.path])


def pytest_collection_finish() -> None:
    """Leave what was collected out of the collector's sight."""
    gc.freeze()
    gc.enable()


def _places(files: Sequence[Path]) -> Mapping[Path, float]:
    """Return when each file is taken, from 0 to 1: those that wait by the order of their folders, others between."""
    waiting_files = sorted((path for path in files if _rank(path) < len(_WAITING_FILES)), key=_rank)
    other_files = [path for path in files if _rank(path) == len(_WAITING_FILES)]
    places = {path: at / len(waiting_files) * _OVER_BY for at, path in enumerate(waiting_files)}
    return places | {path: at / len(other_files) for at, path in enumerate(other_files)}


def _rank(path: Path) -> int:
    name = path.relative_to(Path(__file__).parent).as_posix()
    return next((at for at, folder in enumerate(_WAITING_FILES) if name.startswith(folder)), len(_WAITING_FILES))
