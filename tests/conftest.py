"""For every test: the interpreter's own bound on recursion, and how Hypothesis draws and judges.

py_ecc, which eth-account imports, raises the bound a hundredfold, beyond what the stack holds; whoever imported it
first would otherwise decide whether a test of deeply nested JSON ends the whole run. What we ship restores the bound.

Hypothesis draws the same examples in every run, so that a run fails for what was changed and not for its luck, and it
fails none for the time that it took: a busy machine holds up any call. `--hypothesis-profile explore` draws others.
"""

from __future__ import annotations

import importlib
import os
import sys

from hypothesis import HealthCheck, settings

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
