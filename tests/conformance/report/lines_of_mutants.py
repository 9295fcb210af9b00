"""What a report of a broken server says to do again is done again: each curl line, and a replay of each check.

The mutant's stack stays up while its rows are judged by `weldproof run --config`, as an operator's server would. What
is printed is taken out of `junit.xml` and run by bash and the machine's curl; the answer must show what was recorded.
`python -m tests.conformance.report.lines_of_mutants --shard 1/8` does so for a part of the named mutants; the ids of
mutants may be given instead.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import target
from conformance.cli.run.shards import parse_shard
from conformance.ledger import load
from conformance.log.events import LOG, Event, read_log
from conformance.processes.own_stack import list_surface_options
from conformance.selftest.kill_lists import KillList, load_kill_lists, take_shard
from tests import prepared
from tests.stack import running_stack

_PRINTED_LINE = re.compile(
    r"^curl      (.*?)\nreplay    weldproof (replay REPORT#(\d+)@[^\n<]*)", re.DOTALL | re.MULTILINE
)
_NOT_BY_ONE = "# no single command repeats it: "
_TOO_LONG = "# the curl line has "
_STATUS = re.compile(r"HTTP/1\.[01] (\d{3})")
# Words that are the same in every answer; anything else may be of its time.
_WORDS = re.compile(r"[A-Za-z]?[a-z_ ,.;:'()/-]{0,120}")
# A number that only a run has is recorded by its name.
_NAMED_NUMBER = re.compile(r"(?<=[:\[,])\$[A-Z0-9_]+(?=[,}\]])")
_OWN_FIELDS = frozenset({"date", "connection", "keep-alive", "retry-after", "idempotent-replayed"})


# What these break shows at times, by a race or by what a chain draws; a replay is tried until it does.
_AT_TIMES = {
    "expiry-told-anew": "the repeat has to come in a later second than the call",
    "base-window-in-64-bits": "without the node's help the rail's second look has to come before the block",
    "hub-two-keys": "two registrations at once have to meet",
    "looks-then-acts": "two calls have to meet between the look and the act",
    "webhooks-named-untold": "the transaction has to be named before the gateway sees it by itself",
    "webhooks-told-from-pool": "the gateway has to look before the payment is in a block",
    "solana-longest-signatures": "four of five signatures are as long as they can be in base58",
}
_TRIES = 40
# What these break is shown to a check by the payments of another one, which a replay by itself does not make.
_BESIDE = {"webhooks-any-memo-told": "a payment of another check is reported as one for this check's link"}


@dataclass
class Shown:
    """What came of one mutant.

    Attributes:
        lines: How many curl lines were run.
        reasons: What stands where one line shows nothing, by how often.
        replays: How many checks were replayed.
        faults: What was not shown again, a text each.
    """

    lines: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    replays: int = 0
    faults: list[str] = field(default_factory=list)


def shown_again(kill: KillList, folder: Path, *, replays: bool = True) -> Shown:
    """Judge a mutant's rows, and do what the report says of each breach to do again."""
    rows = list(kill.list_expected_breaches())
    words = [word for lane in kill.lanes for word in ("--lane", lane)]
    words += ["--mutant", kill.mutant, *list_surface_options(load()[row] for row in rows)]
    found = Shown()
    with running_stack(folder / "stack", *words) as ready:
        run_words = ("run", *rows, "--config", ready["profile"], "--seed", "7", "--report", "junit")
        result = _weldproof(folder, *run_words)
        report = folder / "report" / "junit.xml"
        if not report.exists():
            found.faults.append(f"no report: {result.stdout}{result.stderr}")
            return found
        events = read_log(folder / "report" / LOG)
        lines = _PRINTED_LINE.findall(html.unescape(report.read_text()))
        printed_lines = [(line, int(number)) for line, _, number in lines]
        commands = {int(number): command for _, command, number in lines}
        if not printed_lines and any(one["exchange"] is not None for one in _against(events)):
            found.faults.append("the report prints nothing to do again")
        environment = {**os.environ, **_variables(ready["profile"])}
        for line, number in dict.fromkeys(printed_lines):
            _do(line, _find_event(events, number), environment, found)
        replay_numbers = {_check(events, number): number for _, number in reversed(printed_lines)}
        for check, number in replay_numbers.items() if replays else ():
            # A report has placeholders for what its reader chooses: REPORT is its folder, PROFILE the target's profile.
            words = commands[number].replace("REPORT", "report").replace("PROFILE", ready["profile"])
            options = ["--tries", str(_TRIES)] if kill.mutant in _AT_TIMES else []
            options += ["--beside"] if kill.mutant in _BESIDE else []
            result = _weldproof(folder, *shlex.split(words), *options)
            found.replays += 1
            if result.returncode != 0:
                found.faults.append(
                    f"{check}: replay {number} ended with {result.returncode}: {result.stdout}{result.stderr}"
                )
    return found


def _weldproof(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return prepared.run("conformance", *words, env=os.environ, cwd=folder, timeout=600)


def _variables(profile: str) -> Mapping[str, str]:
    """Return what a reader sets by hand, as docs/reading-a-report.md says."""
    profile_given = target.load(Path(profile))
    values_by_name = {name.upper(): secret.read() for name, secret in profile_given.secrets.items()}
    for name, tenant in profile_given.tenants.items():
        values_by_name |= {f"TENANT_{name.upper()}_KEY": tenant.key.read(), f"TENANT_{name.upper()}_ID": tenant.id}
    for name, one in (("ADMIN_KEY", profile_given.gateway.admin_key), ("ADMIN_TOKEN", profile_given.hub.token)):
        values_by_name |= {} if one is None else {name: one.read()}
    return values_by_name


def _against(events: tuple[Event, ...]) -> Iterator[Event]:
    return (one for one in events if one["event"] == "judgement" and one["verdict"] in {"fail", "warn"})


def _find_event(events: tuple[Event, ...], number: int) -> Event:
    return next(one for one in events if one["event"] in {"exchange", "arrival"} and one["n"] == number)


def _check(events: tuple[Event, ...], number: int) -> str:
    return next(str(one["check"]) for one in _against(events) if one["exchange"] == number)


def _do(line: str, recorded_event: Event, environment: Mapping[str, str], found: Shown) -> None:
    """Run a line as it is printed, and hold the answer to the one that was recorded."""
    if line.startswith((_NOT_BY_ONE, _TOO_LONG)):
        reason = line.removeprefix(_NOT_BY_ONE)
        found.reasons[reason] = found.reasons.get(reason, 0) + 1
        return
    result = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, timeout=120, check=False)
    found.lines += 1
    before, after = _of(recorded_event["response"]), _parse_answer(result.stdout.decode("utf-8", "replace"))
    if before != after:
        where = f"{recorded_event['check']}: {recorded_event['request']['method']} {recorded_event['request']['path']}"
        found.faults.append(
            f"{where}\n  {line[:600]}\n  before {before}\n  after  {after} {result.stderr.decode()[:200]}"
        )


def _of(response: Mapping[str, Any] | None) -> tuple[int, frozenset[str], object] | None:
    if response is None:
        return None
    return response["status"], _fields(name for name, _ in response["headers"]), _shape(response["body"])


def _parse_answer(text: str) -> tuple[int, frozenset[str], object] | None:
    """Return what curl printed of an answer."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    status = _STATUS.match(head)
    if status is None:
        return None
    return int(status[1]), _fields(line.partition(":")[0] for line in head.split("\n")[1:]), _shape(body)


def _fields(names: Iterator[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names) - _OWN_FIELDS


def _shape(body: str) -> object:
    """Return what does not change from one answer to the next: members, kinds of values, words."""
    try:
        return _shape_of(json.loads(_NAMED_NUMBER.sub("0", body)))
    except ValueError:
        return "text" if body else "nothing"


def _shape_of(value: object) -> object:
    if isinstance(value, dict):
        return {name if _WORDS.fullmatch(name) else "name": _shape_of(inner) for name, inner in sorted(value.items())}
    if isinstance(value, list):
        return [_shape_of(inner) for inner in value[:1]]
    if isinstance(value, str):
        return value if _WORDS.fullmatch(value) else "text"
    return value if isinstance(value, bool) or value is None else "number"


def main(words: list[str]) -> int:
    """Do so for the mutants that are named, or for a part of all; return 1 where something was not shown again."""
    lists = load_kill_lists()
    if words[:1] == ["--shard"]:
        lists = take_shard(lists, *parse_shard(words[1]))
    elif words:
        lists = tuple(one for one in lists if one.mutant in words)
    failed_count = 0
    for kill in lists:
        with tempfile.TemporaryDirectory(prefix="lines-") as folder:
            shown_result = shown_again(kill, Path(folder))
        failed_count += bool(shown_result.faults)
        counts = f"{shown_result.lines} lines, {shown_result.replays} replays"
        text = f"{kill.mutant}: {counts}, {len(shown_result.faults)} not shown again"
        print("\n".join([text, *shown_result.faults, *map(str, shown_result.reasons)]), flush=True)  # noqa: T201
    return 1 if failed_count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
