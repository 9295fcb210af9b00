"""`weldproof run` ends with the exit code that says what happened, each of the six."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.engine import check
from conformance.engine.check import Case
from conformance.engine.runner import Run
from conformance.log.events import LOG, read_log
from conformance.report import console
from conformance.report.progress import Progress
from tests import prepared
from tests.stack import running_stack

WELDPROOF = [sys.executable, "-m", "conformance"]


def run_suite(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return prepared.run("conformance", "run", *words, env=os.environ, cwd=folder, timeout=600)


def counts(folder: Path) -> dict[str, int]:
    summary: dict[str, int] = json.loads((folder / "report" / "report.json").read_text())["results"]["summary"]
    return summary


def test_0_when_every_claimed_requirement_passes(tmp_path: Path) -> None:
    """The reference keeps RAIL-KEY, the reports are there, and it says that nothing of the operator's was judged."""
    result = run_suite(tmp_path, "RAIL-KEY", "--reference")
    assert result.returncode == 0, result.stdout + result.stderr
    last_line = "Nothing of yours was judged: the target was our own stack."
    first, *_, last = result.stdout.splitlines()
    assert (first, last) == (last_line, f"Passed: 5 of 5 judged requirements pass. {last_line}")
    assert (tmp_path / "report" / "index.html").stat().st_size > 1000
    assert counts(tmp_path)["passed"] == 5


@pytest.fixture(scope="module")
def version_1(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What lets a run judge a rail that declares x402 version 1 and is right otherwise."""
    words = ("--surface", "rail", "--lane", "algorand", "--mutant", "version-1")
    with running_stack(tmp_path_factory.mktemp("version-1"), *words) as ready:
        yield ["--config", ready["profile"]]


def test_1_when_a_requirement_fails(tmp_path: Path, version_1: list[str]) -> None:
    """A rail that declares x402 version 1 fails the row that says 2."""
    result = run_suite(tmp_path, "RAIL-402-03", *version_1)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "RAIL-402-03" in result.stdout


def test_1_when_an_expected_failure_passes(tmp_path: Path, version_1: list[str]) -> None:
    """An expected-failure list that rots fails the run."""
    (tmp_path / "known.toml").write_text(
        '[[xfail]]\nid = "RAIL-KEY-01"\nreason = "not yet"\nowner = "us"\nexpires = 2099-01-01\n'
    )
    result = run_suite(tmp_path, "RAIL-KEY-01", *version_1, "--xfail", "known.toml")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "xfail: stale: RAIL-KEY-01 passes" in result.stderr
    file_text = (tmp_path / "report" / "xfail.toml").read_text()
    assert '# id = "RAIL-KEY-01"\n' in file_text
    (tmp_path / "known.toml").write_text(file_text)
    assert run_suite(tmp_path, "RAIL-KEY-01", *version_1, "--xfail", "known.toml").returncode == 0


def test_0_when_a_failure_is_expected(tmp_path: Path, version_1: list[str]) -> None:
    """A known breach with a reason, an owner and a date to come does not fail the run."""
    (tmp_path / "known.toml").write_text(
        '[[xfail]]\nid = "RAIL-402-03"\nreason = "known"\nowner = "us"\nexpires = 2099-01-01\n'
    )
    result = run_suite(tmp_path, "RAIL-402-03", *version_1, "--xfail", "known.toml")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["RAIL-NOPE"], "RAIL-NOPE"),
        (["--target", "rial=http://localhost:1"], "rial"),
        (["--config", "missing.toml"], "missing.toml"),
        (["--workers", "0"], "workers"),
    ],
)
def test_2_when_it_is_used_wrongly(tmp_path: Path, words: list[str], says: str) -> None:
    """A usage fault is 2, and its line names what is wrong."""
    result = run_suite(tmp_path, *words)
    assert result.returncode == 2
    assert says in result.stderr


def test_3_when_the_target_cannot_be_reached(tmp_path: Path) -> None:
    """No server listens: nothing was decided, so there is no verdict."""
    result = run_suite(tmp_path, "RAIL-KEY", "--target", "rail=http://127.0.0.1:9")
    assert result.returncode == 3, result.stdout + result.stderr


def test_3_when_nothing_ran(tmp_path: Path) -> None:
    """Only rows of a surface that is not claimed: never 0."""
    result = run_suite(tmp_path, "CP-AUTH", "--target", "rail=http://127.0.0.1:9")
    assert result.returncode == 3, result.stdout + result.stderr


@pytest.fixture
def faulty_check() -> Iterator[None]:
    """A check of the suite that is itself broken."""

    async def broken(case: Case) -> None:
        """Trips over itself."""
        raise AttributeError(case.check.id)

    from conformance.engine.check_loading import load_checks

    load_checks()
    check.check("RAIL-KEY-01", surface="rail", fix="none")(broken)
    yield
    del check.REGISTRY["broken"]


@pytest.mark.usefixtures("faulty_check")
def test_4_when_the_suite_itself_is_at_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that trips is the suite's fault and no breach of the target."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["run", "RAIL-KEY-01", "--target", "rail=http://127.0.0.1:9", "--seed", "77"])
    assert result.exit_code == 4, result.output
    assert "report/fault.txt" in result.stderr
    file_text = (tmp_path / "report" / "fault.txt").read_text("utf-8")
    for words in ("AttributeError: broken", "Traceback", "maintainers of Weldproof", "events.ndjson", "seed: 77"):
        assert words in file_text


def test_4_when_the_run_itself_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What escapes the runner is no breach either: the trace lies in a file, without secrets, beside the evidence."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A_SECRET", "held-back-by-everybody")

    async def broken(run: Run, *_: object) -> None:
        run.names.secret("held-back-by-everybody", "A_SECRET")
        raise AttributeError("no such thing: held-back-by-everybody")

    monkeypatch.setattr(Run, "_work", broken)
    result = CliRunner().invoke(main, ["run", "RAIL-KEY-01", "--target", "rail=http://127.0.0.1:9"])
    file_text = (tmp_path / "report" / "fault.txt").read_text("utf-8")
    assert result.exit_code == 4, result.output
    assert "AttributeError: no such thing: $A_SECRET" in result.stderr
    assert "Traceback" not in result.stderr
    assert "AttributeError: no such thing: $A_SECRET" in file_text
    assert "held-back" not in file_text + result.output
    assert (tmp_path / "report" / "index.html").exists()
    assert "run.started" in {event["event"] for event in read_log(tmp_path / "report" / LOG)}


@pytest.mark.parametrize("part", ["progress", "summary"])
def test_a_display_that_breaks_decides_no_exit_code(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only shows a run is turned off or reported; the verdict and the reports are those of the run."""
    monkeypatch.chdir(tmp_path)
    broken = {"progress": (Progress, "_take"), "summary": (console, "show")}
    monkeypatch.setattr(*broken[part], lambda *_, **__: 1 / 0)
    result = CliRunner().invoke(main, ["run", "CP-AUTH", "--target", "rail=http://127.0.0.1:9"])
    assert result.exit_code == 3, result.output
    assert ("the summary could not be shown (ZeroDivisionError)" in result.stderr) is (part == "summary")
    assert ("the display of the run failed and was turned off" in result.stdout) is (part == "progress")
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.slow
def test_130_when_it_is_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends the run, ends the stack that it started, and still writes what was found so far."""
    with subprocess.Popen(
        [*WELDPROOF, "run", "RAIL", "--reference"], cwd=tmp_path, stdout=subprocess.DEVNULL
    ) as process:
        log = tmp_path / "report" / LOG
        ends = time.monotonic() + 600
        while time.monotonic() < ends and not (
            log.exists() and any(one["event"] == "exchange" for one in read_log(log))
        ):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 130
    start_event, *_, end_event = read_log(log)
    assert end_event["event"] == "run.finished"
    assert end_event["interrupted"] is True
    address = urlsplit(start_event["target"]["surfaces"]["rail"])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname or "", address.port or 0), 2)


def test_130_when_a_selftest_is_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends the whole of it: a list that was cut short is not judged, and the next one does not begin."""
    words = [*WELDPROOF, "selftest", "hub-issuers-open", "hub-revoke-open"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        heads: set[bytes] = set()
        ends = time.monotonic() + 600
        while time.monotonic() < ends and len(heads) < 2:  # the log's head moves when a check registers an issuer
            heads |= {found.read_bytes() for found in tmp_path.glob("*/control_plane/audit_head")}
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=600)
    assert (process.returncode, output) == (130, "")
    assert not list(tmp_path.glob("weldproof-*"))
