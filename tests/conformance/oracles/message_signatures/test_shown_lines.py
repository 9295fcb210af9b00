"""Which bases of an explanation show that the agent knew the component and printed a wrong line."""

from __future__ import annotations

import pytest

from conformance.oracles.message_signatures.shown_lines import has_wrong_line

EXPECTED = """\
"@method": GET
"@query-param";name="a: b": one
"example-dict";key="x";req: ?1
"@signature-params": ("@method" "@query-param";name="a: b" "example-dict";key="x";req);created=1"""


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (EXPECTED, False),
        (EXPECTED.replace(": one", ": two"), True),
        (EXPECTED.replace("?1", "1"), True),
        (EXPECTED.replace("created=1", "created=2"), True),
        (EXPECTED.replace('"@query-param";name="a: b": one\n', ""), False),
        (EXPECTED.replace(": one", ": "), False),
        (EXPECTED.replace('"@query-param";name="a: b": one\n', "").replace("GET", "POST"), True),
        ("\n".join(reversed(EXPECTED.split("\n"))), True),
        (EXPECTED + "\n", True),
        ("", False),
        ("no base", False),
    ],
)
def test_a_line_with_another_value_counts_and_an_absent_one_does_not(shown: str, found: bool) -> None:
    """A colon in a parameter is part of the identifier; if all lines are present, order and further text count."""
    assert has_wrong_line(shown, EXPECTED) is found
