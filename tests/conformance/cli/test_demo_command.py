"""`weldproof demo`: it shows a fault that the suite finds, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance import extras
from conformance.cli import main
from conformance.processes.own_stack import start_own_stack
from tests import prepared
from tests.conformance.cli.ending import find_processes_using
from tests.conformance.cli.test_interrupted_runs import until


def test_it_shows_the_fault_and_what_is_next(tmp_path: Path) -> None:
    """One row fails as it must and two pass beside it; the report lies where it says, and nothing else is left."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    result = prepared.run("conformance", "demo", env=environment, cwd=tmp_path, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = {
        line[6:].partition("  ")[0]: line[:4] for line in result.stdout.splitlines() if line[:4] in {"pass", "fail"}
    }
    assert rows == {"RAIL-402-01": "pass", "RAIL-PAY-09": "pass", "RAIL-WELD-02": "fail"}
    for text in ("expected  not served", "found     200", "fix  ", "curl  ", "weldproof explain RAIL-WELD-02"):
        assert text in result.stdout
    report = (tmp_path / "demo-report" / "index.html").read_text("utf-8")
    assert "RAIL-WELD-02" in report
    assert [*find_processes_using(tmp_path), *tmp_path.glob("weldproof-*")] == []


def test_what_it_shows_is_what_makes_it_end_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: where nothing is broken, there is no fault to find, and it says so with 1."""

    def sound(options: tuple[str, ...]) -> object:
        return start_own_stack(options[: options.index("--mutant")])

    monkeypatch.setattr("conformance.cli.demo.execution.start_own_stack", sound)
    result = CliRunner().invoke(main, ["demo", "--report-dir", str(tmp_path / "demo")])
    assert (result.exit_code, "the suite did not find the fault" in result.output) == (1, True), result.output


def test_ctrl_c_ends_it_with_all_that_it_started(tmp_path: Path) -> None:
    """Exit code 130, one line, and no process or folder of its own is left."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    words = [sys.executable, "-m", "conformance", "demo"]
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as process:
        try:
            until(lambda: any("localnet" in one for one in find_processes_using(tmp_path)), process)
            process.send_signal(signal.SIGINT)
            _, error_text = process.communicate(timeout=600)
        finally:
            process.kill()
    assert (process.returncode, b"interrupted; all programs that it started have ended" in error_text) == (130, True), (
        error_text
    )
    until(lambda: not [*find_processes_using(tmp_path), *tmp_path.glob("weldproof-*")])


def test_without_the_reference_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, and no word of a run that does not come."""
    monkeypatch.setattr(extras, "is_installed", lambda extra: extra != "reference")
    result = CliRunner().invoke(main, ["demo"])
    assert (result.exit_code, extras.sentence("reference") in result.output) == (2, True), result.output
    assert "one broken rule" not in result.output
