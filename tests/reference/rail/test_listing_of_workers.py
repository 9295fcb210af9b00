"""Workers of one rail list its services with the same bytes, also after a restart; another listing has another time."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import algosdk
import httpx
import pytest

from reference.rail import runtime
from reference.rail.runtime import open_rail_with_lanes
from reference.rail.settings import RailSettings
from tests.reference.rail.fast_and_slow_path import NETWORK, unasked_lane

PAYEE = str(algosdk.encoding.encode_address(bytes(32)))


async def list_services(folder: Path, **settings: Any) -> bytes:
    """Open a worker, and return what it lists."""
    given = RailSettings(rail_data_dir=folder, rail_payto={"algorand": PAYEE}, **settings)
    async with open_rail_with_lanes(given, {NETWORK.key: unasked_lane()}) as app:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8402") as http:
            return (await http.get("/discovery/resources")).content


async def test_each_worker_has_the_time_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a worker that starts later is not in its listing, unless it lists other prices."""
    start_times = iter(datetime.fromisoformat(f"2026-01-0{day}T00:00:00+00:00") for day in (1, 2, 3))

    class Dates(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            del tz
            return next(start_times)

    monkeypatch.setattr(runtime, "datetime", Dates)
    first = await list_services(tmp_path)
    assert b'"lastUpdated":"2026-01-01T00:00:00Z"' in first
    assert await list_services(tmp_path) == first
    other = await list_services(tmp_path, rail_prices={"receipt-verify": 12_500})
    assert b'"lastUpdated":"2026-01-03T00:00:00Z"' in other
