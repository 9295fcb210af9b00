"""Lines for people: in colour on a terminal, as they are elsewhere, above those that move."""

from __future__ import annotations

import io
import sys

import click
import pytest

from conformance.text.live import Live
from conformance.text.terminal import Terminal, columns

CLEAR = "\r\x1b[2K"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A usual terminal that was not asked for anything."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def print_line(*, terminal: bool) -> str:
    """Return what is written for a line of three parts."""
    out = io.StringIO()
    Terminal(out, terminal=terminal).print("a [red]", ("b", "bold white on red"), ("c", ""))
    return out.getvalue()


def test_styles_are_for_terminals() -> None:
    """A file gets the text alone, a terminal the styles as well, and what looks like markup is text."""
    assert print_line(terminal=False) == "a [red]bc\n"
    assert print_line(terminal=True) == "a [red]\x1b[37m\x1b[41m\x1b[1mb\x1b[0mc\n"


@pytest.mark.parametrize(
    ("name", "value", "terminal", "is_expected"),
    [
        ("NO_COLOR", "1", True, "a [red]\x1b[1mb\x1b[0mc\n"),
        ("NO_COLOR", "", True, "a [red]\x1b[37m\x1b[41m\x1b[1mb\x1b[0mc\n"),
        ("TERM", "dumb", True, "a [red]bc\n"),
        ("FORCE_COLOR", "1", False, "a [red]\x1b[37m\x1b[41m\x1b[1mb\x1b[0mc\n"),
    ],
)
def test_the_environment_decides(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, terminal: bool, is_expected: str
) -> None:
    """NO_COLOR takes colours and leaves weight, a terminal that knows nothing gets nothing, FORCE_COLOR asks."""
    monkeypatch.setenv(name, value)
    assert print_line(terminal=terminal) == is_expected


def test_the_width_is_the_users_word_or_eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS stands over what the system says, and a pipe has 80."""
    assert (Terminal(io.StringIO()).width, Terminal(io.StringIO(), width=7).width) == (80, 7)
    monkeypatch.setenv("COLUMNS", "123")
    assert Terminal(io.StringIO()).width == 123


@pytest.mark.parametrize(("text", "wide"), [("abc", 3), ("é…", 2), ("e\u0301", 1), ("日本", 4)])
def test_columns_are_not_characters(text: str, wide: int) -> None:
    """A combining mark takes no column, an ideograph two."""
    assert columns(text) == wide


def test_what_an_encoding_lacks_is_replaced() -> None:
    """A terminal of another encoding gets a question mark instead of a traceback."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Terminal(stream).print("a · b")
    assert raw.getvalue() == b"a ? b\n"


def test_nobody_reads_any_more() -> None:
    """It is said once; whatever is printed afterwards goes nowhere."""

    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    terminal = Terminal(Closed())
    with pytest.raises(BrokenPipeError):
        terminal.print("a")
    terminal.print("b")


def test_lines_below_stay_below() -> None:
    """A line that is printed takes the place of those below, which are written again under it, and go at the end."""
    out = io.StringIO()
    terminal = Terminal(out, terminal=True)
    terminal.draw(["one", "two"])
    terminal.print("above")
    terminal.draw(())
    cleared_lines = f"{CLEAR}\x1b[1A{CLEAR}"
    assert out.getvalue() == f"\x1b[?25lone\ntwo{cleared_lines}above\none\ntwo\x1b[?25h{cleared_lines}"


def test_what_others_print_stands_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """While lines move, whole lines on standard error are printed above them; afterwards it is as it was."""

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    live = Live(Terminal(screen, width=20), lambda _: ["moves"])
    live.start()
    print("half a ", end="", file=sys.stderr)  # noqa: T201 - as any library would
    click.echo("line", err=True)
    live.stop()
    assert sys.stderr is screen
    before, _, after = screen.getvalue().partition("half a line\n")
    assert before.endswith(CLEAR)
    assert after.endswith(f"moves\x1b[?25h{CLEAR}")


def test_where_lines_cannot_move_none_do() -> None:
    """A pipe and a terminal that knows nothing get nothing of it."""
    out = io.StringIO()
    live = Live(Terminal(out), lambda _: ["moves"])
    live.start()
    live.stop()
    assert out.getvalue() == ""
