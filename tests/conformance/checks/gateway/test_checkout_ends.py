"""How much time a check lets pass to see links end."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.checks.gateway import checkout_ends
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway

_NOW, _HOUR, _DAY = 1_800_000_000, 3600, 86_400


@dataclass
class Service:
    """A gateway for which no more than `longest` seconds may pass at once."""

    is_apart: bool
    longest: float = 2 * _DAY
    now: float = _NOW
    passed: list[float] = field(default_factory=list)

    async def advance(self, seconds: float) -> None:
        """Let seconds pass."""
        if seconds > self.longest:
            raise Inconclusive("too long")
        self.passed.append(seconds)


def made(lifetime: int | None) -> Answer:
    told = {} if lifetime is None else {"expires_at": dt.datetime.fromtimestamp(_NOW + lifetime, dt.UTC).isoformat()}
    return Answer(1, 201, CIMultiDictProxy(CIMultiDict()), json.dumps(told).encode())


@pytest.mark.parametrize(
    ("service", "lifetime", "expected"),
    [
        (Service(is_apart=True), _DAY, [_DAY - 900]),
        (Service(is_apart=True), _HOUR, [_HOUR - 900]),
        (Service(is_apart=True), 900, []),
        (Service(is_apart=True), None, []),
        (Service(is_apart=True, longest=_HOUR), _DAY, []),
        (Service(is_apart=False), _DAY, []),
    ],
)
async def test_time_passes_until_shortly_before_the_end(
    service: Service, lifetime: int | None, expected: list[float]
) -> None:
    """A day passes for a service of its own alone, and nothing for every other, or where no more may pass."""
    await checkout_ends._nearly_end(cast("LimitedGateway", service), made(lifetime))
    assert service.passed == expected
