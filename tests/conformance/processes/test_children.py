"""Child processes without pipes: what they print, how they end, and that none outlives its end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from conformance.processes.children import Child, end_child

PATIENT = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
)


def start(tmp_path: Path, *words: str) -> Child:
    with (tmp_path / "output").open("wb") as output:
        return Child((sys.executable, "-S", "-c", *words), {"GREETING": "hello"}, output)


async def check_output(tmp_path: Path, text: str) -> None:
    while text not in (tmp_path / "output").read_text("utf-8"):  # noqa: ASYNC110 - another process prints it
        await asyncio.sleep(0.01)


async def test_what_it_prints_goes_to_a_file_and_its_code_is_told(tmp_path: Path) -> None:
    child = start(tmp_path, "import os, sys; print(dict(os.environ).get('GREETING')); sys.exit(3)")
    assert await child.wait() == 3 == child.returncode
    assert (tmp_path / "output").read_text("utf-8") == "hello\n"


async def test_one_that_ends_when_asked_is_not_killed(tmp_path: Path) -> None:
    child = start(tmp_path, "import time; print('ready', flush=True); time.sleep(600)")
    assert os.getpgid(child.pid) == child.pid
    await check_output(tmp_path, "ready")
    await end_child(child, 60)
    assert child.returncode == -signal.SIGTERM


async def test_one_that_does_not_is_killed(tmp_path: Path) -> None:
    child = start(tmp_path, PATIENT)
    await check_output(tmp_path, "ready")
    await end_child(child, 0.01)
    assert child.returncode == -signal.SIGKILL
    await end_child(child, 0.01)


async def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as output, pytest.raises(FileNotFoundError):
        Child((str(tmp_path / "nothing"),), {}, output)
