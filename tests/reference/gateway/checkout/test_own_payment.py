"""Who comes second with the payment of a link learns that the link is paid, not that its transfer is used."""

from __future__ import annotations

import pytest

from reference.gateway.checkout.link_settlement import LinkEnded
from tests.reference.gateway.checkout.conftest import NETWORKS, Bench


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_payment_that_a_watcher_took_first_ended_its_link(bench: Bench, network: str) -> None:
    """A call that read the state before the watcher paid the link finds it ended by the same transfer."""
    link, chain = await bench.link(network), bench.chains[network]
    tx_id = chain.pay(1, bench.memo(link))
    transaction = await chain.lane.observe(tx_id)
    await bench.rounds(network)
    assert await bench.state(link) == "paid"
    with pytest.raises(LinkEnded):
        await bench.settling.pay(link, tx_id, transaction)
    (payment,) = await bench.payments()
    assert payment.tx_id == tx_id
    assert await bench.payments("late") == []
