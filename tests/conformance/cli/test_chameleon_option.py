"""`weldproof selftest --chameleon`: what it is asked for, before any stack is started."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.outcome import Exit


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x"], "a seed must be a number"),
        (["1", "2", "--shard", "3/2"], "give I/N with I from 1 to N"),
        (["1", "--rows", "NOBODY-01"], "did you mean"),
    ],
)
def test_a_wrong_word_is_a_fault_of_usage(words: list[str], message: str) -> None:
    """A seed that is no number, a malformed part, and an unknown row end it with status 2."""
    result = CliRunner().invoke(main, ["selftest", "--chameleon", *words])
    assert result.exit_code == Exit.USAGE
    assert message in result.output
