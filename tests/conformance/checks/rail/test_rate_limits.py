"""What the check of a rail's rate limits makes of buckets that are right and wrong."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from conformance.outcome import Verdict
from conformance.target import clock_file
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply
from tests.conformance.checks.trial import run_one_check

ROW = "RAIL-RATE-01"
CHECK = "calls_are_limited"
EXPOSED = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After, X-Request-Id, Idempotent-Replayed"
HEADERS = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}


class Buckets:
    """Buckets of 60 calls that are refilled with two a second, by what `name` makes of a call."""

    def __init__(
        self, offset_file: Path, name: Callable[[Call], str], wait: str, code: str, free_paths: Collection[str]
    ) -> None:
        self._offset_file, self._name, self._wait, self._code = offset_file, name, wait, code
        self._free_paths = free_paths
        self._levels: dict[str, tuple[float, float]] = defaultdict(lambda: (60.0, 0.0))

    def change(self, call: Call, honest: Reply) -> Reply:
        """Return 429 for a call too many."""
        if not call.path.startswith("/pay/v1/") or call.path in self._free_paths:
            return honest
        now = time.time() + clock_file.offset_of(self._offset_file)
        level, at = self._levels[self._name(call)]
        level = min(60.0, level + (now - at) * 2)
        if level < 1:
            self._levels[self._name(call)] = (level, now)
            body = {"error": self._code, "message": "too many calls", "request_id": "req_1"}
            return Reply(429, body, {"Retry-After": self._wait, **HEADERS})
        self._levels[self._name(call)] = (level - 1, now)
        return honest


def by_kind(call: Call) -> str:
    """Return whether a call has a proof."""
    return str("x-payment" in {name.lower() for name, _ in call.lines})


async def judge(
    folder: Path,
    name: Callable[[Call], str] = by_kind,
    wait: str = "1",
    code: str = "rate_limited",
    free_paths: Collection[str] = (),
) -> Verdict:
    """Return the verdict on such buckets."""
    offset_file = folder / "offset"
    offset_file.write_text("0", "ascii")
    profile = f'{PROFILE}\n[limited.rail]\nurl = "http://rail.test"\noffset_file = "{offset_file}"\n'
    return (await run_one_check(CHECK, Rail(Buckets(offset_file, name, wait, code, free_paths).change), profile))[ROW]


async def test_two_buckets_for_each_address_pass(tmp_path: Path) -> None:
    """One bucket of calls without a proof and one of calls with it, and Retry-After in seconds."""
    assert await judge(tmp_path) is Verdict.PASS


@pytest.mark.parametrize(
    ("name", "wait", "code"),
    [
        (lambda call: by_kind(call) + str(call.headers.get("authorization")), "1", "rate_limited"),
        (lambda call: by_kind(call) + str(call.headers.get("x-forwarded-for")), "1", "rate_limited"),
        (lambda _: "all", "1", "rate_limited"),
        (by_kind, "500", "rate_limited"),
        (by_kind, "0", "rate_limited"),
        (by_kind, "0.5", "rate_limited"),
        (by_kind, "1", "slow_down"),
    ],
    ids=["by Authorization", "by X-Forwarded-For", "together", "milliseconds", "no wait", "a fraction", "a code"],
)
async def test_buckets_that_are_wrong_fail(tmp_path: Path, name: Callable[[Call], str], wait: str, code: str) -> None:
    """What a client chooses must not count, and the refusal is that of P-ER-04."""
    assert await judge(tmp_path, name, wait, code) is Verdict.FAIL


@pytest.mark.parametrize("path", ["/pay/v1/index", "/pay/v1/no-such-operation"])
async def test_a_path_that_is_not_counted_fails(tmp_path: Path, path: str) -> None:
    """P-RL-05 counts every call under /pay/v1/."""
    assert await judge(tmp_path, free_paths={path}) is Verdict.FAIL


async def test_without_a_separate_rail_it_is_documented() -> None:
    """No limit of the rail that other checks use is exhausted."""
    assert (await run_one_check(CHECK, Rail(), PROFILE))[ROW] is Verdict.DOCUMENTED
