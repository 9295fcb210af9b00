"""Whether our own stack has a mutant: asked before anything is started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from conformance import extras
from conformance.cli.usage import UsageFault
from conformance.outcome import Exit
from conformance.selftest.kill_lists import load_kill_lists
from conformance.text.untrusted import one_line

_SECONDS = 300.0


def check_mutant(name: str) -> None:
    """See that a mutant exists.

    Those that a kill list names do. Of others, which no row sees, the reference itself is asked.

    Raises:
        UsageFault: There is none of this name; the text has those near it.
    """
    if any(one.mutant == name for one in load_kill_lists()):
        return
    extras.need("reference")
    # After -- a name that begins with a hyphen is a name, too.
    words = [sys.executable, "-m", "reference.variants.mutants", "--", name]
    process = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_SECONDS)  # noqa: S603 - as above
    if process.returncode == Exit.USAGE:
        raise UsageFault(f"--mutant: {one_line(process.stderr.strip())}")


def find_mutant_option(words: Sequence[str]) -> str | None:
    """Return the mutant that the words of a command line name, None where they name none."""
    for place, word in enumerate(words):
        if word == "--mutant":
            return words[place + 1] if place + 1 < len(words) else None
        if word.startswith("--mutant="):
            return word.partition("=")[2]
    return None
