"""`fault.txt`: the details that the maintainers need when a run ends with 4. A user can send the file as it is."""

from __future__ import annotations

import platform
import shlex
import traceback
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version

from conformance.http.client import Names
from conformance.log.events import LOG, Event

FILE = "fault.txt"
_LIBRARIES = ("aiohttp", "uvloop", "orjson", "cryptography")


def text(events: Iterable[Event], words: Sequence[str], names: Names, fault: BaseException | None = None) -> str:
    """Return the file's text, without secrets.

    Args:
        events: Events of the run so far.
        words: Words of the command, without its name.
        names: The secrets to replace.
        fault: The exception that ended the run; None if only checks failed and the run went on.
    """
    event_list = tuple(events)
    seed = next((event["seed"] for event in event_list if event["event"] == "run.started"), None)
    lines = [
        "This is a fault of Weldproof itself. It is not a result about the target.",
        f"Please send this file and {LOG}, from the same folder, to the maintainers of Weldproof.",
        "",
        f"weldproof {version('weldproof')}, Python {platform.python_version()}, {platform.platform()}",
        ", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        f"seed: {'none yet' if seed is None else seed}",
        f"to repeat it: {names.redact(_command(words, seed))}",
        *_checks(event_list),
    ]
    if fault is not None:
        # A traceback quotes values, and users send this file to strangers.
        trace = names.redact("".join(traceback.format_exception(fault)))
        lines += ["", "What ended the run:", trace.rstrip()]
    return "\n".join(lines) + "\n"


def hint(place: str) -> str:
    """Return the sentence that tells users to send the file."""
    return (
        f"This is a fault of the suite itself, not of the target. The trace is in {place}/{FILE}: please send that "
        f"file "
        f"and {place}/{LOG} to the maintainers of Weldproof."
    )


def _command(words: Sequence[str], seed: int | None) -> str:
    has_seed = any(word == "--seed" or word.startswith("--seed=") for word in words)
    # Words after -- are a command of the operator, so options go before it.
    end = words.index("--") if "--" in words else len(words)
    more = [] if has_seed or seed is None else ["--seed", str(seed)]
    return shlex.join(["weldproof", *words[:end], *more, *words[end:]])


def _checks(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if event["event"] == "check.finished" and event["outcome"] == "fault":
            yield f"\n{event['check']}: {event['error']}"
            yield from (
                str(note["text"]).rstrip()
                for note in events
                if note["event"] == "note" and note["check"] == event["check"] and "Traceback" in str(note["text"])
            )
