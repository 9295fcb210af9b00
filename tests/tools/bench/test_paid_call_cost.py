"""The process that a paid call is measured in is the rail's, forked or not, or nothing is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from localnet.prepared.requests import process_name
from tools.bench import paid_call_cost, process_cpu_time

_WAIT = "print('ready', flush=True); input()"
_AS_A_FORK = f"import pathlib, sys; pathlib.Path('/proc/self/comm').write_text(sys.argv[1]); {_WAIT}"


def _start_python(words: Sequence[str]) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def test_a_forked_service_is_found_by_its_name() -> None:
    """A fork has the command line of its parent and a name of its own."""
    name = process_name("reference.rail")
    with _start_python(["-c", _AS_A_FORK, name]) as child, _start_python(["-c", _WAIT]) as other_child:
        assert child.pid == process_cpu_time.service_pid(os.getpid(), "reference.rail")
        for process in (child, other_child):
            process.communicate("\n")


def test_a_service_that_was_started_anew_is_found_by_its_command(tmp_path: Path) -> None:
    """`python -m MODULE` is that module and no other whose name begins alike."""
    for name in ("some_service", "some_service_more"):
        (tmp_path / f"{name}.py").write_text(_WAIT, "ascii")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        with _start_python(["-m", "some_service"]) as child, _start_python(["-m", "some_service_more"]) as other_child:
            assert child.pid == process_cpu_time.service_pid(os.getpid(), "some_service")
            for process in (child, other_child):
                process.communicate("\n")
    finally:
        os.chdir(before)


def test_a_service_that_is_not_there_is_a_fault() -> None:
    """A missing process is an error, and not measured as zero."""
    with pytest.raises(LookupError, match=r"0 processes of reference\.missing"):
        process_cpu_time.service_pid(os.getpid(), "reference.missing")


def test_a_process_that_is_gone_has_no_time() -> None:
    """Its clock went with it."""
    with _start_python(["-c", _WAIT]) as child:
        child.communicate("\n")
    with pytest.raises(OSError, match=r"No such process|Invalid argument"):
        process_cpu_time.process_seconds(child.pid)


@pytest.mark.parametrize("seconds", [0.0, -0.1])
def test_payments_that_cost_nothing_are_a_fault(seconds: float) -> None:
    """A lane that costs nothing was measured in another process than the one that was paid."""
    with pytest.raises(paid_call_cost.NothingMeasured):
        paid_call_cost.cost_of(8, seconds)
    assert paid_call_cost.cost_of(8, 0.04) == pytest.approx(5_000)
