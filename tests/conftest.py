"""For every test: the interpreter's own bound on recursion, how Hypothesis draws and judges, and in which order.

py_ecc, which eth-account imports, raises the bound a hundredfold, beyond what the stack holds; whoever imported it
first would otherwise decide whether a test of deeply nested JSON ends the whole run. What we ship restores the bound.

Hypothesis draws the same examples in every run, so that a run fails for what was changed and not for its luck, and it
fails none for the time that it took: a busy machine holds up any call. `--hypothesis-profile explore` draws others.

Folders whose tests start stacks and programs come first, so that workers end together, on files of a second each.
What collecting makes stays to the end: the collector of garbage waits meanwhile and never looks at it again. It would
look through fourteen thousand tests dozens of times, and each time that a test asks for it.

`--part 2/3` keeps the tests of a part, by their names: what is in one today is in it tomorrow.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import zlib

import pytest
from hypothesis import HealthCheck, settings

from tests import made_once

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

_UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("explore", _UNHURRIED)
settings.register_profile("same", _UNHURRIED, derandomize=True, database=None)
settings.load_profile("same")

made_once.install()

_LONG_FIRST = (
    *("localnet", "conformance/determinism", "outside", "browser", "conformance/fuzz", "conformance/cli"),
    *("reference/bench", "reference/rail", "differential", "reference/webhooks", "reference/addons"),
    *("sim", "conformance"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--part`."""
    parser.addoption("--part", metavar="K/N", default="1/1", help="of the selected tests, those of part K of N")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the part that is asked for, long folders first."""
    asked, parts = (int(number) for number in config.getoption("part").split("/"))
    if not 1 <= asked <= parts:
        raise pytest.UsageError("--part: K is from 1 to N")
    part = {item: zlib.crc32(item.nodeid.partition("[")[0].encode()) % parts + 1 for item in items}
    config.hook.pytest_deselected(items=[item for item in items if part[item] != asked])
    items[:] = sorted((item for item in items if part[item] == asked), key=_place)


def pytest_collection_finish() -> None:
    """Leave what was collected out of the collector's sight."""
    gc.freeze()
    gc.enable()


def _place(item: pytest.Item) -> int:
    name = item.nodeid.removeprefix("tests/")
    return next((at for at, folder in enumerate(_LONG_FIRST) if name.startswith(folder)), len(_LONG_FIRST))
