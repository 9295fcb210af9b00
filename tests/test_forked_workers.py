"""Tests on forks of the process that collected them: nothing is lost, and each worker has what is its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SHARED_TESTS = """
import os
from pathlib import Path
import pytest

HERE = Path(__file__).parent

@pytest.fixture(scope="session")
def owner():
    yield os.getpid()
    (HERE / f"down-{os.getpid()}").touch()
"""
_TOGETHER = """
import atexit, os, warnings
from pathlib import Path

KEPT = []

def test_first(owner, tmp_path_factory):
    KEPT.append(owner)
    atexit.register((Path(__file__).parent / "exit").touch)
    assert tmp_path_factory.getbasetemp().name.startswith("worker-")

def test_second(owner):
    assert KEPT == [owner]
    warnings.warn("of this")
"""
_KILLED_TESTS = """
import os, signal, warnings

def test_before():
    warnings.warn("told before the next worker begins")

def test_that_kills():
    os.kill(os.getpid(), signal.SIGKILL)

def test_after():
    pass
"""
_FAILING_TESTS = """
def test_that_fails():
    print("said by it")
    assert 1 == 2
"""
_ENDLESS = """
import time
from pathlib import Path

def test_without_end(owner):
    (Path(__file__).parent / "begun").touch()
    time.sleep(3600)
"""
_IMPATIENT = """
import time
from pathlib import Path

def test_that_fails():
    while not (Path(__file__).parent / "begun").exists():
        time.sleep(0.01)
    assert False
"""


def _ran(folder: Path, *options: str, **files: str) -> str:
    """Run files of tests on two workers, and return what was printed."""
    (folder / "conftest.py").write_text(_SHARED_TESTS, "utf-8")
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text, "utf-8")
    quiet = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:schemathesis", "-c", "/dev/null")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, str(ROOT), "-p", "tests.forked_workers", "--workers", "2", *quiet, *options]
    result = subprocess.run([*words, str(folder)], cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 1, result.stderr
    return result.stdout


def test_every_test_is_run_and_told(tmp_path: Path) -> None:
    """Files stay together, a killed worker fails one test and no other, and what is begun is ended in its worker."""
    output = _ran(tmp_path, together=_TOGETHER, killed=_KILLED_TESTS, failing=_FAILING_TESTS)
    assert re.search(r"2 failed, 4 passed, 2 warnings in", output), output
    assert "its worker ended with -9" in output
    assert "said by it" in output
    assert "assert 1 == 2" in output
    assert "of this" in output
    assert (tmp_path / "exit").exists()
    assert len([*tmp_path.glob("down-*")]) == 1


def test_the_first_failure_ends_all_where_it_is_asked_to(tmp_path: Path) -> None:
    """With `-x` a test that would go on for an hour ends, and its fixtures are taken down."""
    output = _ran(tmp_path, "-x", endless=_ENDLESS, impatient=_IMPATIENT)
    assert "stopping after 1 failures" in output, output
    assert len([*tmp_path.glob("down-*")]) == 1
