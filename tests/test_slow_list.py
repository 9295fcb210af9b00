"""What `make test` leaves out is listed, with what it holds."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
# A test, or one of the values that a fixture of a folder has.
MARKED_TEST = re.compile(r"^@pytest\.mark\.slow\n(?:@.*\n)*(?:async )?def (test_\w+)", re.MULTILINE)
VALUE = re.compile(r'pytest\.param\(("\w+"), marks=.*\bpytest\.mark\.slow\b')
ROW = re.compile(r"^\| `(tests/\S+\.py)` `(test_\w+|\"\w+\")` \|(?: [^|]+ \|){3}$", re.MULTILINE)


def test_every_slow_test_is_listed() -> None:
    """docs/slow-tests.md names each test with the mark, and no other; the mark stands nowhere else."""
    marked_tests, marks = set(), 0
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text("utf-8")
        marked_tests |= {
            (path.relative_to(ROOT).as_posix(), name) for name in (*MARKED_TEST.findall(text), *VALUE.findall(text))
        }
        marks += len(re.findall(r"^(?!MARKED|VALUE).*\bmark\.slow\b", text, re.MULTILINE))
    listed_tests = set(ROW.findall((ROOT / "docs" / "slow-tests.md").read_text("utf-8")))
    assert listed_tests == marked_tests
    assert len(listed_tests) == marks
