"""Commands of build services are broken up in texts, lines of a shell, streams and JSON."""

from __future__ import annotations

import io
import json
import subprocess

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.text.shell_words import word
from conformance.text.target_text_escaping import has_command, one_line, show_shortened, visible
from conformance.text.workflow_command_escaping import CommandFreeStream, escape_commands_in_json

COMMANDS = {
    "::error file=x::y": "\\x3a:error file=x::y",
    "a\n  ::add-mask::b": "a\n  \\x3a:add-mask::b",
    "a\n\u00a0::group::b": "a\n\u00a0\\x3a:group::b",
    "a\n\t::error::b": "a\n\t\\x3a:error::b",
    "x ##[error]y": "x \\x23#[error]y",
    "##vso[task.logissue type=error]y": "\\x23#vso[task.logissue type=error]y",
    "###teamcity[message]": "#\\x23#teamcity[message]",
}
HARMLESS = [
    "::1",
    "[::1]:8402",
    "a::b",
    "# heading",
    "## heading [link]",
    "std::string",
    "#[derive]",
    "http://[fe80::a]/",
]


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_is_shown_and_is_none(text: str) -> None:
    """The first of its signs is an escape, so that a reader sees what was sent."""
    assert visible(text) == COMMANDS[text]
    assert not has_command(visible(text))
    assert not has_command(one_line(text))
    assert not has_command(show_shortened(text, 1000))
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_command_stays(text: str) -> None:
    """Addresses of IPv6, names of C++ and headings of Markdown among it."""
    assert visible(text) == text


@pytest.mark.parametrize("text", [*COMMANDS, *HARMLESS])
def test_a_word_of_a_shell_is_what_it_was(text: str) -> None:
    """The line holds no command, and the shell makes the text of it."""
    line = f"printf %s {word(text)}"
    assert not has_command(line)
    assert subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout == text


@pytest.mark.parametrize("text", COMMANDS)
def test_a_stream_holds_no_command(text: str) -> None:
    """Whatever writes to it, and however."""
    held = io.StringIO()
    stream = CommandFreeStream(held)
    assert stream.write(text) == len(text)
    stream.writelines([f"{text}\n", "plain\n"])
    assert not has_command(held.getvalue())
    assert held.getvalue().endswith("plain\n")
    assert stream.getvalue() == held.getvalue()


@pytest.mark.parametrize("text", [*COMMANDS, *HARMLESS, 'a\\##[b]"\\', "\u202e\u200b\x7f\U000e0001"])
def test_json_is_of_the_same_value(text: str) -> None:
    """A program reads what was meant, and the line holds neither a command nor a hidden letter."""
    json_text = escape_commands_in_json(json.dumps({text: [text]}, ensure_ascii=False).encode())
    assert json.loads(json_text) == {text: [text]}
    assert not has_command(json_text.decode())
    assert visible(json_text.decode()) == json_text.decode()


@pytest.mark.parametrize("text", COMMANDS)
def test_a_fault_of_usage_holds_no_command(text: str) -> None:
    """It quotes what was given, which a workflow may have from a target."""
    result = CliRunner().invoke(main, ["check", text])
    assert result.exit_code == 2
    assert not has_command(result.output)
    result = CliRunner().invoke(main, ["explain", text])
    assert not has_command(result.output)


def test_a_command_after_a_carriage_return_is_none() -> None:
    """The reader of a job's output ends a line there, too."""
    stream = io.StringIO(newline="")
    CommandFreeStream(stream).write("50 %\r ::error::x")
    assert stream.getvalue() == "50 %\r \\x3a:error::x"
