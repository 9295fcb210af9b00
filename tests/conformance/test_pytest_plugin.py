"""`pytest --weldproof URL`: each requirement is a test, and says of it what `weldproof run` says."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.log.events import LOG, read_log
from tests import prepared
from tests.reserved_port import reserved_port
from tests.stack import running_stack

# Its results have no list of errors: one row fails by it, one warns.
MUTANT = "agent-errors-absent"
CHOSEN_ROWS = ("AGENT-HTTP-01", "AGENT-VERIFY-04", "AGENT-VERIFY-05", "GW-LINK-01", "GW-DOC-01")


def outcome_of(folder: Path, *words: str, ini: str = "") -> subprocess.CompletedProcess[str]:
    """Return what pytest says in a folder of its own, with no plugin but the suite's."""
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n", "utf-8")
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "COLUMNS": "200"}
    options = ("-p", "conformance.pytest_plugin", "-v", "-rA")
    return prepared.run("pytest", *options, *words, env=environment, cwd=folder, timeout=600)


def outcomes(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Return the outcome of each requirement, from the lines of `pytest -v`."""
    return dict(re.findall(r"^weldproof::(\S+) ([A-Z]+)", result.stdout, re.MULTILINE))


def select_ids(*ids: str) -> list[str]:
    return [word for one in ids for word in ("--weldproof-select", one)]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The reference's agent, with a rule broken, and a profile that does not claim the specification."""
    words = ("--surface", "agent", "--lane", "algorand", "--mutant", MUTANT)
    with running_stack(tmp_path_factory.mktemp("broken"), *words) as ready:
        profile = Path(ready["profile"])
        profile.write_text(profile.read_text("utf-8").replace('specification = "1"\n', ""), "utf-8")
        yield ready


def test_a_sound_server_is_green(tmp_path: Path) -> None:
    """Nothing is given but the address; beside the requirements the folder's own tests run."""
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n", "utf-8")
    with running_stack(tmp_path / "stack", "--surface", "agent", "--lane", "algorand") as ready:
        result = outcome_of(
            tmp_path, "--weldproof", ready["agent"], *select_ids("AGENT-HTTP", "AGENT-CARD"), "test_own.py"
        )
    assert result.returncode == pytest.ExitCode.OK, result.stdout + result.stderr
    assert Counter(outcomes(result).values()) == {"PASSED": 6}
    assert "collected 7 items" in result.stdout
    assert "Passed: 6 of 6 judged requirements pass." in result.stdout


def test_breaches_fail_and_warn(tmp_path: Path, broken: dict[str, str]) -> None:
    """A failure has the exchange, the lines that show it again, and a command for more; a warning is of pytest."""
    words = ("--weldproof", broken["agent"], f"--weldproof-profile={broken['profile']}")
    result = outcome_of(tmp_path, *words, *select_ids(*CHOSEN_ROWS))
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, result.stdout + result.stderr
    expected_outcomes = dict(zip(CHOSEN_ROWS, ("PASSED", "FAILED", "PASSED", "SKIPPED", "SKIPPED"), strict=True))
    assert outcomes(result) == expected_outcomes
    assert "1 failed, 2 passed, 2 skipped, 1 warning" in result.stdout
    for text in (
        "AGENT-VERIFY-04: The result always contains a list of errors",
        "curl      # no single command repeats it: only a run knows",
        "weldproof replay",
        "weldproof explain AGENT-VERIFY-04",
        "WeldproofWarning: AGENT-VERIFY-05",
        "GW-LINK-01: the profile does not claim the surface gateway",
        "GW-DOC-01: A feature flag",
    ):
        assert text in result.stdout, text


def test_the_expected_failures_are_strict(tmp_path: Path, broken: dict[str, str]) -> None:
    """A listed breach is an expected failure, and a listed row that passes fails; -k leaves out the rest of the run."""
    entry = '[[xfail]]\nid = "{}"\nreason = "known"\nowner = "us"\nexpires = 2999-01-01\n'
    (tmp_path / "known.toml").write_text(entry.format("AGENT-VERIFY-04") + entry.format("AGENT-HTTP-01"), "utf-8")
    words = (
        f"--weldproof-profile={broken['profile']}",
        "--weldproof-xfail",
        "known.toml",
        "-k",
        "HTTP-01 or VERIFY-04",
    )
    result = outcome_of(tmp_path, *words, *select_ids("AGENT"))
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, result.stdout + result.stderr
    assert outcomes(result) == {"AGENT-HTTP-01": "FAILED", "AGENT-VERIFY-04": "XFAIL"}
    assert "on the expected-failure list, but it passes" in result.stdout
    judged_ids = [one["id"] for one in read_log(tmp_path / ".pytest_cache/d/weldproof" / LOG) if one["event"] == "row"]
    assert judged_ids == ["AGENT-HTTP-01", "AGENT-VERIFY-04"]


@pytest.mark.parametrize(
    ("ini", "outcome", "code"),
    [
        ("", "FAILED", pytest.ExitCode.TESTS_FAILED),
        ("weldproof_inconclusive = skip", "SKIPPED", pytest.ExitCode.OK),
        ("weldproof_inconclusive = warn", "PASSED", pytest.ExitCode.OK),
    ],
)
def test_what_cannot_be_decided_fails_unless_the_ini_file_says_otherwise(
    tmp_path: Path, ini: str, outcome: str, code: pytest.ExitCode
) -> None:
    """A server that gives no answer: by default the test fails, with the reason."""
    with reserved_port() as port:
        (tmp_path / "weldproof.toml").write_text(
            f'version = 1\n[surfaces.agent]\nurl = "http://127.0.0.1:{port}"\n[claims]\nsurfaces = ["agent"]\n', "utf-8"
        )
        words = ("--weldproof-profile", "weldproof.toml", *select_ids("AGENT-HTTP-01"))
        result = outcome_of(tmp_path, *words, ini=ini)
    assert outcomes(result) == {"AGENT-HTTP-01": outcome}, result.stdout + result.stderr
    assert result.returncode == code
    assert "AGENT-HTTP-01 could not be decided: cannot connect to" in result.stdout


def test_a_server_that_is_none_ends_the_session(tmp_path: Path) -> None:
    """Where `weldproof init` finds no surface, its words are the session's, and it never looks green."""
    with reserved_port() as port:
        result = outcome_of(tmp_path, "--weldproof", f"http://127.0.0.1:{port}", *select_ids("AGENT-HTTP-01"))
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "no known surface answered" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--weldproof", "localhost:8402"], "give an address such as http://localhost:8402"),
        (
            ["--weldproof", "http://localhost:1", "--weldproof-select", "AGENT-ABSENT"],
            "no requirement 'AGENT-ABSENT'; did you mean AGENT-",
        ),
        (
            ["--weldproof", "http://localhost:1", "--weldproof-select", "RAIL-4"],
            "no requirement 'RAIL-4'; did you mean RAIL-402",
        ),
        (["--weldproof-profile", "gone.toml"], "cannot read gone.toml"),
        (["--weldproof", "http://a.example", "--weldproof-profile", "p.toml"], "it describes http://b.example, not"),
        (["--weldproof", "http://a.example", "-o", "weldproof_inconclusive=maybe"], "give one of fail, skip, warn"),
    ],
    ids=["address", "select", "part of a number", "profile", "other server", "ini"],
)
def test_wrong_options_are_named(tmp_path: Path, words: list[str], message: str) -> None:
    """Each ends pytest with its usage error, before anything is asked of a server."""
    (tmp_path / "p.toml").write_text('version = 1\n[surfaces.rail]\nurl = "http://b.example"\n', "utf-8")
    result = outcome_of(tmp_path, *words)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR, result.stdout + result.stderr
    assert message in result.stdout + result.stderr


def test_without_its_options_it_does_nothing(tmp_path: Path) -> None:
    """A project whose environment has the suite runs its own tests as before."""
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n", "utf-8")
    result = outcome_of(tmp_path)
    assert "collected 1 item" in result.stdout
    assert "1 passed" in result.stdout
