"""The Algorand lane in the registry."""

from __future__ import annotations

from typing import Final

from conformance.lanes.algorand.transaction_ids import spellings
from conformance.lanes.descriptor import Descriptor, LaneTools


def _means() -> LaneTools:
    from conformance.lanes.algorand import checkout, node, payer, payer_host, sender  # noqa: PLC0415 - SDKs are imported when a lane needs them

    return LaneTools(
        node.AlgorandNode,
        payer.AlgorandPayer.open,
        checkout.AlgorandCheckout,
        sender.AlgorandSender.open,
        payer.AlgorandPayer.take_back,
        payer_host.AlgorandPayerHost,
    )


DESCRIPTOR: Final = Descriptor("algorand", _means, spellings)
