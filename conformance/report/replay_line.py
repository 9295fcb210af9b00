"""The command line that repeats an exchange of a run: its replay id, and the options that name the target.

`weldproof replay` takes no target from a log, so the line has to name it. The run that made the log prints the options
that it was given. A report that is read later prints placeholders such as PROFILE in their places: the author of that
log is unknown, and the reader must not paste the path of a profile that the author chose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.report.summary import Summary
from conformance.text.shell_words import word

WORKING_PROFILE: Final = "weldproof.toml"
# Characters of a run's id in a replay id.
RUN_LETTERS: Final = 8
# Options of a run that name its target and its connection, in the order in which they are printed.
_VALUES: Final = {"mutant": "--mutant", "chains": "--chains", "block_mode": "--algorand-mode", "config": "--config"}
_LISTS: Final = {"settings": "--setting", "addresses": "--target"}
_CONNECTION: Final = {"cacert": "--cacert", "timeout": "--timeout"}
# Placeholders for values that only the process which made the log prints.
_PLACEHOLDERS: Final = {
    "config": "PROFILE",
    "chains": "FILE",
    "settings": "NAME=VALUE",
    "addresses": "NAME=URL",
}
# Values that name nothing but a part of the suite: a mutant's id, or kinds of chains that it starts itself.
_OF_THE_SUITE: Final = {
    "mutant": re.compile(r"[a-z0-9][a-z0-9-]{0,80}"),
    "block_mode": re.compile(r"[a-z]{1,20}"),
    "chains": re.compile(r"(?:[a-z]+=)?(?:sim|localnet)(?:,(?:[a-z]+=)?(?:sim|localnet))*"),
}


@dataclass(frozen=True, slots=True)
class Replays:
    """The form of the command lines that repeat exchanges of a run.

    Attributes:
        report: The report folder as the reader would type it.
        own_run: Whether this process made the run, so that the reader chose its options.
    """

    report: str = "REPORT"
    own_run: bool = False

    def command(self, summary: Summary, number: int) -> str:
        """Return the command that repeats an exchange; it names the run, since a later one may use the same folder."""
        if summary.options.get("addon"):
            return "# a replay starts no addon: run the requirement again"
        place = f"{word(self.report)}#{number}@{word(summary.run_id[:RUN_LETTERS])}"
        return " ".join(["weldproof", "replay", place, *target_words(summary.options, own_run=self.own_run)])


# For a report in a file, and for one that is shown later.
READ_LATER: Final = Replays()


def target_words(options: Mapping[str, Any], *, own_run: bool) -> Iterator[str]:
    """Yield the words of a command line that name the target of a run with these options."""
    payer_command = options.get("payer_command")
    if options.get("own_stack") and not options.get("mutant"):
        yield "--reference"
    for name, option in _VALUES.items():
        if options.get(name):
            yield from (option, _value_or_placeholder(name, str(options[name]), own_run=own_run))
    for name, option in _LISTS.items():
        for value in options.get(name) or ():
            yield from (option, _value_or_placeholder(name, str(value), own_run=own_run))
    if not payer_command and not any(options.get(name) for name in ("own_stack", *_VALUES, *_LISTS)):
        # The run used the profile of its working folder. A replay never uses such a profile by itself, because a folder
        # from another person may contain one.
        yield from ("--config", _value_or_placeholder("config", WORKING_PROFILE, own_run=own_run))
    yield from _connection_words(options) if own_run else ()
    # The command of a payer ends the line. A program that another person's log names must not be pasted and run.
    if payer_command:
        yield from ("--", *(map(word, map(str, payer_command)) if own_run else ("COMMAND",)))


def _connection_words(options: Mapping[str, Any]) -> Iterator[str]:
    for name, option in _CONNECTION.items():
        if options.get(name):
            yield from (option, word(str(options[name])))
    if options.get("insecure"):
        yield "--insecure"


def _value_or_placeholder(name: str, value: str, *, own_run: bool) -> str:
    # A value of this form names a part of the suite, so even a stranger's log cannot do harm with
    # it.
    pattern = _OF_THE_SUITE.get(name)
    if own_run or (pattern is not None and pattern.fullmatch(value)):
        return word(value)
    return _PLACEHOLDERS.get(name, "ID")
