"""The README's commands are the program's commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import click
import pytest

from conformance.cli import main
from tests import prepared

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def commands(program: str) -> list[list[str]]:
    """Return the command lines of the README's code that start with `program`."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", README, flags=re.DOTALL))
    lines = [line for block in blocks for line in block.splitlines()] + inline
    command_lines = [shlex.split(line, comments=True) for line in lines if line.startswith(program)]
    return [words for words in command_lines if len(words) > 1]


@pytest.mark.parametrize("words", commands("make"), ids=" ".join)
def test_its_make_targets_exist(words: list[str]) -> None:
    """Each `make` line of the README names a target of the Makefile."""
    result = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("words", commands("weldproof"), ids=" ".join)
def test_its_commands_exist_with_their_options(words: list[str]) -> None:
    """Each `weldproof` line of the README names a command, and options that its help lists."""
    command = named_by(words[1:])
    help_text = help_of(*command)
    for word in words[1:]:
        if word.startswith("--"):
            assert word in help_text, f"{word} is not an option of {' '.join(command)}"


@cache
def help_of(*command: str) -> str:
    """Return what a command says of itself; some are programs of their own."""
    result = prepared.run("conformance", *command, "--help", env=os.environ, timeout=600)
    assert result.returncode == 0, result.stderr
    return result.stdout


def named_by(words: list[str]) -> list[str]:
    """Return the words that name a command: more than one where the first is a group of commands."""
    found_command: click.Command = main
    for place, word in enumerate(words):
        inner = (
            found_command.get_command(click.Context(found_command), word)
            if isinstance(found_command, click.Group)
            else None
        )
        if inner is None:
            return words[:place]
        found_command = inner
    return words


def test_its_two_commands_run_in_the_gate() -> None:
    """The gate calls the README's two commands."""
    gate = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "make --no-print-directory test" in gate
    assert "make --no-print-directory run" in gate


def test_its_exit_codes_are_the_programs() -> None:
    """The README's table lists exactly the exit codes of `run`."""
    from conformance.outcome import Exit

    exit_codes = [int(code) for code in re.findall(r"^\| ([0-9]+) \|", README, re.MULTILINE)]
    assert exit_codes == [int(code) for code in Exit]
