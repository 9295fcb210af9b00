"""The go-algorand evaluator as a child process, in an isolated environment that is made when it is missing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from programs import python_packages

_PINS = Path(__file__).with_name("requirements.txt")
_TIMEOUT = 120


def environment() -> Path:
    """Return the interpreter of the isolated environment, making it when it is missing.

    Raises:
        Missing: It could not be made; the text says what to do.
    """
    return python_packages.environment("go-algorand", _PINS, description="the go-algorand evaluator") / "bin" / "python"


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
