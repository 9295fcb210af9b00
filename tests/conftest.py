"""For every test: the interpreter's own bound on recursion.

py_ecc, which eth-account imports, raises it a hundredfold, beyond what the stack holds; whoever imported it first would
otherwise decide whether a test of deeply nested JSON ends the whole run. What we ship restores it by itself.
"""

from __future__ import annotations

import importlib
import sys

_LIMIT = sys.getrecursionlimit()
importlib.import_module("py_ecc")
sys.setrecursionlimit(_LIMIT)
