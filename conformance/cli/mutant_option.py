"""Mutants on the command line: checks that the named one exists before anything is started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from conformance import extras
from conformance.cli.usage import UsageFault
from conformance.outcome import Exit
from conformance.selftest.kill_lists import load_kill_lists
from conformance.text.target_text_escaping import one_line

# Longest time for the reference to list its mutants; a busy machine compiles many modules first.
_SECONDS = 300.0


def check_mutant(name: str) -> None:
    """Check that a mutant exists.

    Raises:
        UsageFault: No mutant has this name; the text contains similar names.
    """
    if any(one.mutant == name for one in load_kill_lists()):
        return
    # A mutant in no kill list may still exist: the reference has some that no row can see. Only the
    # reference knows them, and the suite shares no code with it, so a process asks.
    extras.need("reference")
    # After -- a name that begins with a hyphen is not taken for an option.
    words = [sys.executable, "-m", "reference.variants.mutants", "--", name]
    process = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_SECONDS)  # noqa: S603 - as above
    # Other failures, such as a missing library, appear again when the reference starts, with a
    # better message.
    if process.returncode == Exit.USAGE:
        raise UsageFault(f"--mutant: {one_line(process.stderr.strip())}")


def find_mutant_option(words: Sequence[str]) -> str | None:
    """Return the mutant that the words of a command line name; None without one."""
    for place, word in enumerate(words):
        if word == "--mutant":
            return words[place + 1] if place + 1 < len(words) else None
        if word.startswith("--mutant="):
            return word.partition("=")[2]
    return None
