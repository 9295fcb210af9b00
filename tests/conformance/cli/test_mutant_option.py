"""`--mutant` of `run` and `up`: an unknown name is a fault of usage, reported before anything is started."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.cli.mutant_option import check_mutant, find_mutant_option
from conformance.cli.usage import UsageFault
from tests import prepared


@pytest.fixture(autouse=True)
def asked_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference's own process, which knows its mutants, with its imports done."""

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert words[:2] == [sys.executable, "-m"]
        return prepared.run(*words[2:], env=os.environ, timeout=300)

    monkeypatch.setattr("conformance.cli.mutant_option.subprocess", SimpleNamespace(run=run))


@pytest.mark.parametrize(
    "words",
    [
        ("run", "RAIL-KEY", "--mutant", "version-9"),
        ("run", "--mutant", "-version-1"),
        ("up", "--surface", "rail", "--mutant", "version-9"),
        ("up", "--mutant=version-9"),
    ],
)
def test_an_unknown_mutant_is_a_fault_of_usage(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2 and one line with the names near it; no stack is begun."""
    monkeypatch.setattr("os.execv", lambda *_: pytest.fail("the launcher was called"))
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 2, result.output
    assert "version-1" in result.output.partition("near it:")[2]
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize("name", ["version-1", "crash-after-sent"])
def test_a_mutant_is_known_with_a_kill_list_and_without(name: str) -> None:
    """What no row sees is a mutant, too: those that end in the midst of a payment."""
    check_mutant(name)


def test_the_launcher_is_called_with_a_mutant_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """`up` hands its words on as they came."""
    calls: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, words: calls.append(words))
    CliRunner().invoke(main, ["up", "--surface", "rail", "--mutant", "version-1", "--json"])
    assert calls[0][-6:] == ["up", "--surface", "rail", "--mutant", "version-1", "--json"]


def test_a_name_that_is_near_none() -> None:
    """The message says where all names are listed."""
    with pytest.raises(UsageFault, match="weldproof selftest --list"):
        check_mutant("zzzzzzzz")
    assert find_mutant_option(["--json"]) is None
    assert find_mutant_option(["--mutant"]) is None


def test_a_mutant_tells_its_rule() -> None:
    """`python -m reference.variants.mutants ID` starts nothing."""
    words = [sys.executable, "-m", "reference.variants.mutants", "version-1"]
    result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert (result.returncode, len(result.stdout.splitlines())) == (0, 1)
