"""The option `--shard I/N` of commands whose work can be divided among machines."""

from __future__ import annotations

import re

from conformance.cli.usage import UsageFault


def parse_shard(text: str) -> tuple[int, int]:
    """Return I and N of the option's text.

    Raises:
        UsageFault: The text is not I/N with I from 1 to N.
    """
    match = re.fullmatch(r"([1-9][0-9]*)/([1-9][0-9]*)", text)
    if match is None or int(match[1]) > int(match[2]):
        raise UsageFault(f"--shard {text}: give I/N with I from 1 to N")
    return int(match[1]), int(match[2])
