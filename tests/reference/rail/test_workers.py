"""Workers on one PostgreSQL, some killed while they serve: N payments, N receipts, N prices (P-LN-07, P-ST-06)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

# Many payments and several workers; a busy machine takes its time.
pytestmark = pytest.mark.timeout(1200)


@pytest.mark.postgres
def test_two_workers_settle_side_by_side(shop: Callable[..., None]) -> None:
    """40 payments on Base over two workers at once: every one mined, no nonce twice, none left out."""
    shop(40, workers=2, kills=0, lanes="base_mainnet", at_once=10)


@pytest.mark.slow
@pytest.mark.postgres
def test_forty_payments_while_workers_are_killed(shop: Callable[..., None]) -> None:
    """Four workers, some killed at moments that differ in each run: 40 receipts, 40 prices."""
    shop(40, workers=4, kills=4, lanes="algorand_mainnet,base_mainnet", at_once=10)
