"""Limits of rate: the check on buckets that hold their depth and refill, and on buckets that do not."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.outcome import Verdict
from tests.conformance.checks.trial import run_one_check

PROFILE = """
[target]
defaults = "reference"
[surfaces.gateway]
url = "http://gateway.test"
[claims]
surfaces = ["gateway"]
lanes = ["algorand"]
specification = "1"
[limited.gateway]
url = "http://limited.test"
offset_file = "{clock}"
[limited.gateway.tenants.first]
id = "tenant"
key.env = "RATES_TEST_KEY"
networks = ["algorand_testnet"]
[pace]
requests_per_second = 0.0
"""
# Depth and refill a second, by the kind of calls.
LIMITS = {"open": (30, 2.0), "token": (60, 1.0), "tenant": (60, 5.0), "receipts": (120, 2.0)}


class Gateway:
    """Counts calls in buckets on the clock of a file."""

    def __init__(
        self, clock: Path, limits: dict[str, tuple[int, float]], *, retry_after: str = "1", first: str = ""
    ) -> None:
        self._clock = clock
        self._first = first
        self._limits = limits
        self._retry_after = retry_after
        self._levels: dict[str, tuple[float, float]] = {}

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request; the check named `first` is wrongly made before the limits."""
        path, fields = urlsplit(url).path, {name.lower(): value for name, value in headers}
        has_key = "authorization" in fields
        faults = {
            "route": (path == "/v1/no-such-thing", 404),
            "method": (method in {"DELETE", "PUT"}, 405),
            "size": (len(body or b"") > 60_000, 413),
            "key": (fields.get("authorization", "").endswith("A" * 48), 401),
            "media type": (fields.get("content-type") == "text/plain", 415),
            "JSON": (body == b"{", 400),
        }
        before = {"route", "method", "key", *(("size",) if has_key else ()), self._first}
        for name, (is_met, refusal) in faults.items():
            if is_met and name in before:
                return refusal, CIMultiDictProxy(CIMultiDict()), b"{}"
        if path.startswith("/health/"):
            return 200, CIMultiDictProxy(CIMultiDict()), b"{}"
        kind = "receipts" if path.endswith("/verify") else "tenant" if has_key else "open"
        kind = "token" if path == "/checkout/live/status" else kind
        depth, per_second = self._limits[kind]
        now = time.time() + float(self._clock.read_text("ascii"))
        level, last = self._levels.get(kind, (float(depth), now))
        level = min(depth, level + (now - last) * per_second)
        is_allowed = level >= 1
        self._levels[kind] = level - is_allowed, now
        own = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1796025165"}
        if not is_allowed:
            own["Retry-After"] = self._retry_after
        status = (201 if method == "POST" and has_key else 200) if is_allowed else 429
        return status, CIMultiDictProxy(CIMultiDict(own)), json.dumps({"token": "live"}).encode()


async def judge(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    retry_after: str = "1",
    limits: Mapping[str, tuple[int, float]] | None = None,
    first: str = "",
    row: str = "GW-RATE-08",
) -> Verdict:
    """Return the verdict of the check of a gateway with some limits changed."""
    monkeypatch.setenv("RATES_TEST_KEY", "key")
    clock = tmp_path / "clock"
    clock.write_text("0\n", "ascii")
    gateway = Gateway(clock, {**LIMITS, **(limits or {})}, retry_after=retry_after, first=first)
    verdicts = await run_one_check("limits_have_their_depth_and_their_callers", gateway, PROFILE.format(clock=clock))
    return verdicts[row]


async def test_buckets_of_the_specification_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bucket has its depth and its refill."""
    assert await judge(tmp_path, monkeypatch) is Verdict.PASS


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("open", (10, 2.0)), ("open", (1000, 2.0)), ("open", (30, 0.5)), ("token", (30, 1.0)), ("tenant", (60, 1.0))],
)
async def test_another_bucket_fails(
    kind: str, limit: tuple[int, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bucket that is too small, too deep or too slow is noticed."""
    assert await judge(tmp_path, monkeypatch, limits={kind: limit}) is Verdict.FAIL


async def test_a_wait_of_no_seconds_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry-After is a whole number of at least 1."""
    assert await judge(tmp_path, monkeypatch, retry_after="0") is Verdict.FAIL


@pytest.mark.parametrize(
    ("first", "verdict"),
    [("", Verdict.PASS), ("size", Verdict.FAIL), ("media type", Verdict.FAIL), ("JSON", Verdict.FAIL)],
)
async def test_the_limits_have_their_place_in_the_order(
    first: str, verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of a check that comes after a limit is not answered while the limit refuses calls."""
    assert await judge(tmp_path, monkeypatch, first=first, row="GW-ERR-07") is verdict
