"""The Base lane in the registry."""

from __future__ import annotations

from typing import Final

from conformance.lanes.descriptor import Descriptor, LaneTools


def _means() -> LaneTools:
    from conformance.lanes.base import checkout, node, payer, payer_host, sender  # noqa: PLC0415 - SDKs are imported when a lane needs them

    return LaneTools(
        node.BaseNode,
        payer.BasePayer.open,
        checkout.BaseCheckout,
        sender.BaseSender.open,
        payer.BasePayer.take_back,
        payer_host.BasePayerHost,
    )


DESCRIPTOR: Final = Descriptor("base", _means)
