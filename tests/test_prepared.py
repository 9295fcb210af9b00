"""Prepared processes are processes of their own, with what they were given and nothing else."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import prepared
from tests.reference.worker_process import environment

ROOT = Path(__file__).parents[1]
_ASKING_SCRIPT = """
import os
from pathlib import Path
from tests import prepared

HERE = Path(__file__).parent
SETTINGS = {"WP_MODE": "test", "WP_AGENT_PORT": "0"}

def test_it():
    with (HERE / "log").open("ab") as log:
        process = prepared.start("reference.agent", env=os.environ | SETTINGS, stdout=log, stderr=log)
    parent = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]
    process.kill()
    process.wait(60)
    (HERE / f"parent-{os.getpid()}").write_text(parent)
"""


def test_it_is_as_the_program_started_anew(tmp_path: Path) -> None:
    """Exit status, words, folder, environment and both outputs are those of the program."""
    help_run = prepared.run("reference.agent", "--help", env=environment(), cwd=tmp_path)
    assert (help_run.returncode, help_run.stderr) == (0, "")
    assert help_run.stdout.startswith("Usage: weldproof-agent")
    refusal_run = prepared.run("reference.agent", env=environment(WP_AGENT_PORT="x"), cwd=tmp_path)
    assert (refusal_run.returncode, refusal_run.stdout) == (2, "")
    assert "WP_AGENT_PORT" in refusal_run.stderr


def test_a_script_does_what_the_program_does(tmp_path: Path) -> None:
    """A shell starts it by name: words, input, outputs, folder, environment and exit status are its own."""
    prepared.script(tmp_path / "weldproof", "conformance")
    words = ["receipt", "inspect", "-"]
    anew = [sys.executable, "-m", "conformance", *words]
    for input_text in ('{"a": 1}', "nothing"):
        forked_result, started_result = (
            subprocess.run(command, input=input_text, capture_output=True, text=True, cwd=tmp_path, check=False)
            for command in (["sh", "-c", './weldproof "$@"', "sh", *words], anew)
        )
        assert (forked_result.returncode, forked_result.stdout, forked_result.stderr) == (
            started_result.returncode,
            started_result.stdout,
            started_result.stderr,
        )
    script = "cd / && WELDPROOF_CONFIG=/none.toml exec $0 run GW-LINK-01 --config none.toml"
    result = subprocess.run(
        ["sh", "-c", script, str(tmp_path / "weldproof")], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "none.toml" in result.stderr


def test_a_signal_that_ends_it_is_told() -> None:
    """Its status is the signal's negative number, however often it is asked for; before, it runs."""
    with tempfile.TemporaryFile() as log:
        process = prepared.start("reference.agent", env=environment(WP_AGENT_PORT="0"), stdout=log, stderr=log)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        process.kill()
        assert [process.wait(120), process.wait(0), process.poll()] == [-signal.SIGKILL] * 3
        process.kill()


def test_workers_share_what_was_imported(tmp_path: Path) -> None:
    """Processes that workers on forks of one process start have the same parent, which ends with the run."""
    for name in ("one", "other"):
        (tmp_path / f"test_{name}.py").write_text(_ASKING_SCRIPT, "utf-8")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    options = ("-p", "tests.forked_workers", "--workers", "2", "-p", "no:cacheprovider", "-c", "/dev/null")
    words = [sys.executable, "-c", code, str(ROOT), *options, str(tmp_path)]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stdout
    first, second = (path.read_text("ascii") for path in tmp_path.glob("parent-*"))
    assert first == second
    with contextlib.suppress(ProcessLookupError):
        assert select.select([os.pidfd_open(int(first))], [], [], 60)[0]
