"""`weldproof doctor`: what is missing here and what that disables."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance import target
from conformance.cli import doctor
from conformance.cli.doctor import (
    check_container_engine,
    check_libraries,
    check_network_namespaces,
    check_port,
    check_python,
    command,
)
from conformance.cli.doctor import check_program as told
from conformance.cli.doctor.finding import Finding
from conformance.cli.doctor.webhook_destinations import check_destinations
from programs.found import Program
from tests.reserved_port import reserved_port


def program(folder: Path, name: str, *, code: int = 0) -> Path:
    """Write an executable that ends with `code`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder that is the whole search path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_an_old_python_is_missing_and_the_running_one_is_not() -> None:
    """The version that the distribution needs is required."""
    assert (check_python((3, 10, 4)).state, check_python((3, 11, 0)).state) == ("missing", "ok")


def test_a_library_that_is_not_there_or_too_old_is_named() -> None:
    """Absent and unfit libraries are named with what was found; extras and other platforms do not count."""
    findings = check_libraries(["click>=999", "no-such-library-of-ours>=1", "ruff>=9999; extra == 'dev'", "jinja2>=3"])
    assert findings.state == "missing"
    assert "click>=999" in findings.found
    assert "no-such-library-of-ours>=1 (missing)" in findings.found
    assert "ruff" not in findings.found
    assert "jinja2" not in findings.found
    assert check_libraries(["jinja2>=3"]).state == "ok"


def test_a_program_is_told_with_its_version_and_whose_it_is() -> None:
    """Programs on the machine and programs in the cache are distinguished."""
    machines = Program("P", Path("/usr/bin/p"), "1.2", of_machine=True)
    assert told("P", machines, disables="d", remedy="r") == Finding("P", "ok", "1.2, /usr/bin/p")
    ours = Program("P", Path("/cache/p"), "1.2", of_machine=False)
    assert told("P", ours, disables="d", remedy="r").found == "1.2, /cache/p (of our cache)"


def test_programs_are_found_in_the_cache_and_never_got(
    empty_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking what is there changes nothing: where neither has a program it is absent, with the line to do."""
    monkeypatch.setenv("WELDPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WELDPROOF_PROGRAMS", "own")
    program(empty_path, "chromium")
    findings = {one["name"]: one for one in json.loads(CliRunner().invoke(command, ["--json"]).output)["findings"]}
    for name in ("PostgreSQL", "Chromium", "Node.js"):
        assert findings[name]["state"] == "absent"
        assert str(tmp_path / "cache") in findings[name]["found"]
        assert "apt install" in findings[name]["remedy"]
    assert not (tmp_path / "cache").exists()


def test_a_container_engine_counts_when_its_daemon_answers(empty_path: Path) -> None:
    """A client without a daemon starts no node."""
    assert check_container_engine().found == "no docker and no podman"
    program(empty_path, "docker", code=1)
    assert check_container_engine().state == "absent"
    assert check_container_engine().remedy == "start docker"
    program(empty_path, "docker", code=0)
    assert check_container_engine().state == "ok"


def test_a_network_namespace_counts_when_one_may_be_made(empty_path: Path) -> None:
    """The program alone does not do: it is tried."""
    assert check_network_namespaces().found == "no unshare"
    program(empty_path, "unshare", code=1)
    assert "allow" in check_network_namespaces().remedy
    program(empty_path, "unshare", code=0)
    assert check_network_namespaces().state == "ok"


def test_a_taken_port_is_named_with_the_way_round() -> None:
    """A foreign server on a usual port does not stop the suite."""
    with socket.create_server(("127.0.0.1", 0)) as busy_server:
        port = busy_server.getsockname()[1]
        finding = check_port("rail", port)
        assert finding.state == "in use"
        assert "--port-base 0" in finding.remedy
    with reserved_port() as port:
        assert check_port("rail", port).state == "ok"


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("absent", 0), ("in use", 0), ("missing", 1)])
def test_only_what_is_required_changes_the_exit_code(state: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optional things may be absent."""

    def examine() -> Iterator[Finding]:
        yield Finding("thing", state, "found", "something", "do it")  # type: ignore[arg-type]

    monkeypatch.setattr(doctor, "examine", examine)
    plain, as_json = (CliRunner().invoke(command, words) for words in ([], ["--json"]))
    assert (plain.exit_code, as_json.exit_code) == (code, code)
    assert ("disables: something" in plain.output) is (state != "ok")
    assert json.loads(as_json.output)["healthy"] is (code == 0)


def test_this_machine_runs_the_suite() -> None:
    """Where the tests run nothing required is missing."""
    result = CliRunner().invoke(command, ["--json"])
    findings = {finding["name"]: finding for finding in json.loads(result.output)["findings"]}
    assert result.exit_code == 0
    assert findings["Python"]["state"] == "ok"
    assert findings["libraries"]["state"] == "ok"
    assert all(finding["disables"] and finding["remedy"] for finding in findings.values() if finding["state"] != "ok")


def hooks(folder: Path, **members: str) -> target.Profile:
    """Return a profile with one destination."""
    (folder / "secret").write_text("weldw_0123456789")
    given_members = {"url": "http://127.0.0.1:1/x", **members}
    lines = "".join(f'{name} = "{value}"\n' for name, value in given_members.items())
    return target.parse(f'[webhook.destinations.first]\n{lines}secret = {{ file = "{folder}/secret" }}\n')


def test_a_destination_that_can_be_received_at_is_told(tmp_path: Path) -> None:
    """A free address is well, a taken one disables the webhook rows and says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as busy_server:
        place = f"127.0.0.1:{busy_server.getsockname()[1]}"
        (finding,) = check_destinations(hooks(tmp_path, listen=place))
        assert finding.state == "absent"
        assert place in finding.found
        assert "WH-DELIV" in finding.disables
        assert "listen" in finding.remedy
    (finding,) = check_destinations(hooks(tmp_path, listen=place))
    assert (finding.name, finding.state) == ("webhook destination first", "ok")


def test_a_destination_that_nobody_can_bind_is_told(tmp_path: Path) -> None:
    """An https URL needs `listen`; a secret that is not there is named, and never shown."""
    (finding,) = check_destinations(hooks(tmp_path, url="https://hooks.example/x"))
    assert finding.state == "absent"
    assert "listen" in finding.found
    profile = hooks(tmp_path, listen="127.0.0.1:0")
    (tmp_path / "secret").unlink()
    (finding,) = check_destinations(profile)
    assert finding.state == "absent"
    assert "secret" in finding.found
