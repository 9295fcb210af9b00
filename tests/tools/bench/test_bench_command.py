"""`weldproof bench`: what slowed down is said with exit code 1; a run of the suite shows where its seconds went."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from programs.missing import Missing
from tests.tools.bench.bench_figures import figures, job
from tools.bench import peer_home
from tools.bench.__main__ import command
from tools.bench.ratios import Job
from tools.bench.suite import sum_seconds


def run(*words: str) -> tuple[int, str]:
    """Return exit code and standard output."""
    result = CliRunner().invoke(command, words)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout


def record_figures(path: Path, *jobs: Job) -> str:
    """Write figures as if they were recorded."""
    path.write_bytes(orjson.dumps(figures(*jobs).as_json()))
    return str(path)


@pytest.mark.slow
def test_a_slower_receipt_is_said(tmp_path: Path) -> None:
    """A record that no machine could reach makes a real quick run fail, and names job and floor."""
    record = record_figures(tmp_path / "record.json", job("receipt", [1.0] * 3, libsodium=[100.0] * 3))
    code, output = run("--quick", "--rounds", "3", "--only", "receipt", "--against", record)
    assert code == 1
    assert "slower  receipt: weldproof is " in output
    assert "of libsodium, recorded 100.00x" in output


def test_nothing_slower_is_exit_zero(tmp_path: Path) -> None:
    """A record that any machine beats passes."""
    record = record_figures(tmp_path / "record.json", job("receipt", [100.0] * 3, libsodium=[1.0] * 3))
    code, output = run("--quick", "--rounds", "3", "--only", "receipt", "--against", record, "--json")
    assert code == 0
    assert json.loads(output)["slower"] == []
    assert {"G1"} == {one["goal"] for one in json.loads(output)["goals"]}


@pytest.mark.parametrize(
    "words",
    [
        ("--quick", "--against", "nowhere.json"),
        ("--record", "--only", "receipt"),
        ("--quick", "--only", "paid-http"),
        ("--quick", "--only", "delivery"),
        ("--suite", "pyproject.toml"),
        ("--only", "nothing"),
    ],
)
def test_usage_is_exit_two(words: tuple[str, ...]) -> None:
    """What cannot be measured is refused before anything is."""
    assert run(*words)[0] == 2


def test_where_a_run_spent_its_seconds(tmp_path: Path) -> None:
    """The slowest check stands first, with what its exchanges took."""
    log = tmp_path / "events.ndjson"
    events = [
        {"event": "exchange", "check": "b", "response": {"milliseconds": 500}},
        {"event": "exchange", "check": "b", "response": None},
        {"event": "check.finished", "check": "a", "seconds": 1.0},
        {"event": "check.finished", "check": "b", "seconds": 3.0},
        {"event": "run.finished", "seconds": 3.5},
    ]
    log.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
    code, output = run("--suite", str(tmp_path), "--json")
    document = json.loads(output)
    assert code == 0
    assert (document["seconds"], document["check_seconds"]) == (3.5, 4.0)
    assert document["checks"][0] == {"check": "b", "seconds": 3.0, "exchanges": 2, "exchange_seconds": 0.5}
    assert "75.0%" in run("--suite", str(log))[1]


def test_a_run_that_did_not_end_has_no_length() -> None:
    """Its checks are shown all the same."""
    seconds = sum_seconds([{"event": "check.finished", "check": "a", "seconds": 1.0}])
    assert seconds.seconds is None
    assert seconds.in_checks == 1.0


def test_a_peer_that_cannot_be_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without npm, and nowhere to get it from, the npm peers are left out aloud, with what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("WELDPROOF_CACHE", str(tmp_path))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(Missing, match="apt install nodejs npm"):
        peer_home.node_home(print)


def test_the_versions_of_the_peers_are_pinned() -> None:
    """Every peer that a table names has one exact version."""
    versions = peer_home.versions()
    assert {"x402", "fastapi", "uvicorn", "http-message-signatures", "jose", "@x402/hono"} <= versions.keys()
    assert all(version[0].isdigit() for version in versions.values())
