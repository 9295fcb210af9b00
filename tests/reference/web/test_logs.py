"""What a fault leaves in the log: where it came from, and nothing that a caller sent."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from reference.web.logs import redact, traceback_text

PROGRAM = """
import logging
from reference.web import logs
logs.configure("info")
def broken(secret):
    raise ValueError(f"cannot read '{secret}' of postgresql://me:{secret}@db/x {secret}")
try:
    try:
        broken("5ecret-5ecret-5ecret-5ecret")
    except ValueError as fault:
        raise RuntimeError("no answer") from fault
except RuntimeError:
    logs.get_logger().error("unplanned_fault", exc_info=True)
    logging.getLogger("hypercorn.error").exception("Error in ASGI Framework")
"""


def test_a_traceback_is_logged_as_its_text() -> None:
    """Both faults, the place of each, and no secret; what a library logs has the same form."""
    outcome = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    own, library = (json.loads(line) for line in outcome.stderr.splitlines())

    for line in (own, library):
        assert "exc_info" not in line
        assert "RuntimeError: no answer" in line["traceback"]
        assert "in broken" in line["traceback"]
        assert "ValueError: cannot read … of postgresql://…db/x …" in line["traceback"]
    assert (own["event"], own["level"]) == ("unplanned_fault", "error")
    assert (library["logger"], library["message"]) == ("hypercorn.error", "Error in ASGI Framework")
    assert "5ecret" not in outcome.stderr


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("database is locked", "database is locked"),
        ("Key (name)=(x)\nDETAIL: row of a caller", "Key (name)=(x)"),
        ('unexpected "whsec_a b" here', "unexpected … here"),
        ("an open quote: 'and what follows", "an open quote: …"),
        ("https://me:pass@a.example/x", "https://…a.example/x"),
        ("Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Bearer …"),
    ],
)
def test_what_may_be_a_secret_is_left_out(sentence: str, text: str) -> None:
    """What is quoted, who is named in an address, long words, and all lines but the first."""
    assert redact(sentence) == text


def test_groups_of_faults_are_told_whole() -> None:
    """Each of their faults, redacted."""
    try:
        raise ExceptionGroup("several", [ValueError("of 'x'"), OSError(24, "Too many open files", "/a/secret")])
    except ExceptionGroup as group:
        text = traceback_text(group)

    assert "ValueError: of …" in text
    assert "OSError: [Errno 24] Too many open files: …" in text
    assert "/a/secret" not in text.partition("| ExceptionGroup: ")[2]
