"""A control plane a test, in this process; its database by parameter where that matters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reference.control_plane import service_health
from tests.reference.control_plane.hub_stack import LONG_SECONDS, Hub, hub


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> float:
    """Let a posture wait for every answer, however busy the machine is; return the real limit in seconds."""
    whole = service_health.WHOLE_SECONDS
    monkeypatch.setattr(service_health, "WHOLE_SECONDS", LONG_SECONDS)
    return whole


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of an empty database."""
    return {} if request.param == "sqlite" else {"db": request.getfixturevalue("postgres_database")}


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Hub]:
    """A control plane on SQLite, with its limits switched off."""
    async with hub(tmp_path) as control_plane:
        yield control_plane


@pytest.fixture
async def either(tmp_path: Path, database: dict[str, Any]) -> AsyncIterator[Hub]:
    """A control plane on SQLite, and on PostgreSQL."""
    async with hub(tmp_path, **database) as control_plane:
        yield control_plane
