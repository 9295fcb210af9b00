"""A gateway a test, in this process; its database by parameter where that matters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.reference.gateway.gateway_stack import Gateway, Tenant, gateway


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Gateway]:
    """A gateway on SQLite, with its limits switched off."""
    async with gateway(tmp_path) as opened:
        yield opened


@pytest.fixture
async def seller(shop: Gateway) -> Tenant:
    """A tenant on trial with payout addresses, the first of them on Algorand's test network."""
    return await shop.tenant()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of an empty database."""
    return {} if request.param == "sqlite" else {"gateway_db": request.getfixturevalue("postgres_database")}
