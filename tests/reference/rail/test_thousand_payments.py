"""The same as `test_workers`, for long: a thousand payments (P-LN-07, P-ST-06). Its own target: `make thousand`."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.postgres
@pytest.mark.thousand
@pytest.mark.timeout(3600)
def test_a_thousand_payments_while_workers_are_killed(shop: Callable[..., None]) -> None:
    """Four workers, killed some sixty times: 1,000 receipts and exactly 1,000 prices moved."""
    shop(1000, workers=4, kills=60, lanes="algorand_mainnet,base_mainnet", at_once=16)
