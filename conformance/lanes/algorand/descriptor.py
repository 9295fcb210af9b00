"""The Algorand lane in the registry."""

from __future__ import annotations

from typing import Final

from conformance.lanes.algorand.transaction_ids import spellings
from conformance.lanes.descriptor import Descriptor, LaneTools


def _means() -> LaneTools:
    from conformance.lanes.algorand import (  # noqa: PLC0415 - SDKs are imported when a lane needs them
        checkout,
        node,
        payer,
        sender,
        tested_payer_accounts,
    )

    return LaneTools(
        node.AlgorandNode,
        payer.AlgorandPayer.open,
        checkout.AlgorandCheckout,
        sender.AlgorandSender.open,
        payer.AlgorandPayer.take_back,
        tested_payer_accounts.AlgorandPayerHost,
    )


DESCRIPTOR: Final = Descriptor("algorand", _means, spellings)
