"""A limit of calls by the client's address: how many of a load are served, and the form of a refusal (1.1)."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer, Unreachable
from conformance.http.transport import HttpTransport
from conformance.outcome import Inconclusive

# More calls than any of the limits of P-RL-05 to P-RL-07 lets through at once.
LOAD: Final = 110
# The longest wait that a refusal may name, in seconds.
LONGEST_WAIT_SECONDS: Final = 60
# The longest wait for a service whose clock cannot be moved.
_LONGEST_REAL_WAIT_SECONDS: Final = 3
_PAUSE_SECONDS: Final = 10
# Calls of one kind, sent while a limit is used up. It is more than what comes back meanwhile.
_BURST: Final = 20
_AT_ONCE: Final = 16
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1"})
_OTHER_ADDRESS: Final = "127.0.0.2"

# Sends one call of a load; takes its number.
Send = Callable[[int], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class AddressLimit:
    """A bucket of calls for each client address.

    Attributes:
        depth: Calls at once from rest.
        per_second: Calls that come back each second.
    """

    depth: int
    per_second: float

    @property
    def longest_load_seconds(self) -> float:
        """The longest time of a load: by then so many calls have come back that it may meet no 429."""
        return (LOAD - self.depth) / self.per_second / 2


def disguise(number: int) -> dict[str, str]:
    """Return fields that name another client for each number, none of which may count."""
    return {
        "Authorization": f"Bearer client-{number}",
        "X-API-Key": f"client-{number}",
        "X-Tenant-Id": f"client-{number}",
        "User-Agent": f"client/{number}",
        "X-Forwarded-For": f"203.0.113.{number}",
        "Forwarded": f"for=203.0.113.{number}",
        "X-Real-IP": f"203.0.113.{number}",
    }


async def send_load(send: Send) -> tuple[list[Answer], float]:
    """Send a load at once; return the answers, and the seconds that it took."""
    start = time.monotonic()
    answers = await run_concurrently(map(send, range(LOAD)), at_once=_AT_ONCE)
    return answers, time.monotonic() - start


def judge_served(
    case: Case, row: str, name: str, load: tuple[Sequence[Answer], float], limit: AddressLimit, count: float
) -> None:
    """Judge that `count` calls of a load, and those that came back meanwhile, were not answered 429.

    Raises:
        Inconclusive: The load took too long to reach the limit.
    """
    answers, seconds = load
    if seconds > limit.longest_load_seconds:
        raise Inconclusive(f"{len(answers)} {name} took {seconds:.0f} s: too slow from here to reach the limit")
    served_count = sum(one.status != 429 for one in answers)
    # One more for the part of a call that was left before, and two for the time between the calls and this clock.
    most = count + limit.per_second * (seconds + 2) + 1
    shown = next((one for one in answers if one.status == 429), answers[-1])
    expectation = f"{count:.0f} to {most:.0f} of {len(answers)} served"
    case.expect(
        row, count <= served_count <= most, expectation, f"{served_count}", exchange=shown, where={"calls": name}
    )


async def judge_counted(case: Case, row: str, name: str, send: Send, limit: AddressLimit, *, use_up: Send) -> None:
    """Judge that a limit counts another kind of calls: once it is used up, no more of them are served than came back.

    Args:
        case: The check's case.
        row: The row.
        name: The other calls, in words.
        send: Sends one of them.
        limit: The limit.
        use_up: Sends a call that the limit is known to count.

    Raises:
        Inconclusive: The calls took too long to meet a limit that is used up.
    """
    start = await _use_up(use_up)
    answers = await run_concurrently(map(send, range(_BURST)), at_once=_AT_ONCE)
    # One call for the part that was left at the refusal.
    most = limit.per_second * (time.monotonic() - start) + 1
    if most >= len(answers):
        raise Inconclusive(f"{len(answers)} {name} took too long from here to meet a limit that is used up")
    served = [one for one in answers if one.status != 429]
    expectation = f"at most {most:.0f} of {len(answers)} served"
    shown = (served or answers)[-1]
    case.expect(row, len(served) <= most, expectation, f"{len(served)}", exchange=shown, where={"calls": name})


async def _use_up(send: Send) -> float:
    """Send calls until one is refused, and return the time at which it was sent: then less than one call was left."""
    for number in range(LOAD):
        # A machine that stops for a moment between two kinds of calls must not look like a limit that does not count.
        start = time.monotonic()
        if (await send(number)).status == 429:
            return start
    raise Inconclusive(f"{LOAD} calls one after the other do not use up the limit from here")


async def judge_other_client(case: Case, row: str, method: str, url: str) -> None:
    """Judge, while a limit is used up, that a client with another address is served (P-CV-19).

    Only a target on this machine's loopback sees another address.
    """
    if urlsplit(url).hostname not in _LOOPBACK_NAMES:
        return
    seconds = case.profile.budgets.request
    transport = HttpTransport(seconds=seconds, requests_per_second=0, connections=1, from_address=_OTHER_ADDRESS)
    async with transport:
        try:
            answer = await case.client.with_transport(transport).call(method, url, json_body={}, patient=False)
        except Unreachable as fault:
            case.note(f"no request came from {_OTHER_ADDRESS}: {fault}")
            return
    where = {"calls": "a call of a client with another address"}
    case.expect(row, answer.status != 429, "no 429", answer.status, exchange=answer, where=where)


def find_wait_faults(answer: Answer) -> list[str]:
    """Return what of the `Retry-After` of a 429 is not a whole number of seconds up to a minute."""
    value = answer.headers.get("Retry-After", "none")
    is_seconds = bool(re.fullmatch("[1-9][0-9]?", value)) and int(value) <= LONGEST_WAIT_SECONDS
    return [] if is_seconds else [f"Retry-After {value}"]


async def judge_bucket(
    case: Case,
    row: str,
    name: str,
    send: Send,
    limit: AddressLimit,
    *,
    find_refusal_faults: Callable[[Answer], list[str]],
    advance: Callable[[float], None] | None,
) -> None:
    """Judge a limit from rest: its depth, its refusals, and what comes back.

    Args:
        case: The check's case.
        row: The row.
        name: The calls, in words.
        send: Sends one of them.
        limit: Their limit.
        find_refusal_faults: Returns what of a 429 is not as specified, beside its `Retry-After`.
        advance: Lets seconds pass for the service; None if its clock cannot be moved.
    """
    load = await send_load(send)
    load_end = time.monotonic()
    judge_served(case, row, name, load, limit, limit.depth)
    refusals = [one for one in load[0] if one.status == 429]
    for answer in refusals:
        faults = find_wait_faults(answer) + find_refusal_faults(answer)
        expectation = "429 in the form of this surface with Retry-After in seconds"
        case.expect(row, not faults, expectation, "; ".join(faults) or "so", exchange=answer, where={"calls": name})
    value = refusals[-1].headers.get("Retry-After", "") if refusals else ""
    # No longer than a real wait may take; find_wait_faults judges a longer one.
    longest = _LONGEST_REAL_WAIT_SECONDS if advance is None else LONGEST_WAIT_SECONDS
    if not re.fullmatch("[0-9]{1,9}", value) or (advance is None and int(value) > longest):
        return
    seconds = min(int(value), longest)
    if advance is None:
        await asyncio.sleep(seconds)
    else:
        advance(seconds)
    answer = await send(0)
    finding, where = f"{answer.status} after {value} s", {"calls": name}
    case.expect(row, answer.status != 429, "no 429 after Retry-After", finding, exchange=answer, where=where)
    if advance is None:
        return
    advance(_PAUSE_SECONDS)
    # The first load left less than one call, and Retry-After was waited for.
    rest = _PAUSE_SECONDS + (LONGEST_WAIT_SECONDS if int(value) > limit.per_second else 0)
    name = f"{name}, {_PAUSE_SECONDS} s later"
    answers, _ = await send_load(send)
    # What came back counts from the end of the first load.
    judge_served(case, row, name, (answers, time.monotonic() - load_end), limit, rest * limit.per_second)


def find_detail_faults(answer: Answer) -> list[str]:
    """Return what of a 429 is not `{"detail": "<text>"}`, the form of agent, control plane and addons."""
    detail = answer.read_object().get("detail")
    return [] if isinstance(detail, str) and detail.strip() else [f"detail {detail!r}"]
