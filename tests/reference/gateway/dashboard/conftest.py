"""An administrator who is signed in with the first key, and a receiver of webhooks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.reference.gateway.dashboard.administrator import Administrator
from tests.reference.gateway.gateway_stack import Gateway
from tests.reference.webhooks.receiver import Receiver


@pytest.fixture
async def stranger(shop: Gateway) -> AsyncIterator[Administrator]:
    """A user who is not signed in yet."""
    administrator = Administrator(shop)
    yield administrator
    await administrator.http.aclose()


@pytest.fixture
async def admin(stranger: Administrator) -> Administrator:
    """A user who may do everything."""
    assert (await stranger.sign_in()).status == 303
    return stranger


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver that answers 200."""
    new_receiver = await Receiver().open()
    yield new_receiver
    await new_receiver.close()
