"""`python -m tests.outside.judged_payer WRAPPER …`: run a wrapper, and in its place what it replaces itself by."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from conformance import lanes

_EXAMPLES = Path(__file__).parents[3] / "examples"
# `os.execvp` calls `os.execv`, which is replaced below.
_EXECUTE = os.execv


def _import_libraries() -> None:
    """Import what the wrappers, the scripts and `weldproof pay` import, on each lane."""
    for path in (*_EXAMPLES.glob("pay_with_*.py"), *(_EXAMPLES / "payers").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                for one in node.names:
                    importlib.import_module(one.name)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                importlib.import_module(node.module)
    for module in pkgutil.walk_packages(lanes.__path__, f"{lanes.__name__}."):
        importlib.import_module(module.name)


def _run_in_place(program: str, words: Sequence[str]) -> NoReturn:
    """Run the program that replaces this one, in this process if it is Python."""
    if program != sys.executable:
        _EXECUTE(program, list(words))
    elif words[1] == "-m":
        sys.argv = [*words[2:]]
        runpy.run_module(words[2], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [*words[1:]]
        runpy.run_path(words[1], run_name="__main__")
    sys.exit()


if __name__ == "__main__":
    for name in ("execv", "execvp"):
        setattr(os, name, _run_in_place)
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
else:
    _import_libraries()
