"""The Base lane in the registry."""

from __future__ import annotations

from typing import Final

from conformance.lanes.descriptor import Descriptor, LaneTools


def _means() -> LaneTools:
    from conformance.lanes.base import (  # noqa: PLC0415 - SDKs are imported when a lane needs them
        checkout,
        node,
        payer,
        sender,
        tested_payer_accounts,
    )

    return LaneTools(
        node.BaseNode,
        payer.BasePayer.open,
        checkout.BaseCheckout,
        sender.BaseSender.open,
        payer.BasePayer.take_back,
        tested_payer_accounts.BasePayerHost,
    )


DESCRIPTOR: Final = Descriptor("base", _means)
