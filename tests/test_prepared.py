"""Prepared processes are processes of their own, with what they were given and nothing else."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests import prepared
from tests.reference.worker_process import environment


def test_it_is_as_the_program_started_anew(tmp_path: Path) -> None:
    """Exit status, words, folder, environment and both outputs are those of the program."""
    told = prepared.run("reference.agent", "--help", env=environment(), cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("Usage: weldproof-agent")
    refused = prepared.run("reference.agent", env=environment(WP_AGENT_PORT="x"), cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "WP_AGENT_PORT" in refused.stderr


def test_a_signal_that_ends_it_is_told() -> None:
    """Its status is the signal's negative number, however often it is asked for; before, it runs."""
    with tempfile.TemporaryFile() as log:
        process = prepared.start("reference.agent", env=environment(WP_AGENT_PORT="0"), stdout=log, stderr=log)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        process.kill()
        assert [process.wait(120), process.wait(0), process.poll()] == [-signal.SIGKILL] * 3
        process.kill()
