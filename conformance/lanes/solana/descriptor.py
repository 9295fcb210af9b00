"""The Solana lane in the registry."""

from __future__ import annotations

from typing import Final

from conformance.lanes.descriptor import Descriptor, LaneTools
from conformance.lanes.solana.transaction_ids import spellings


def _means() -> LaneTools:
    from conformance.lanes.solana import checkout, node, payer, payer_host, sender  # noqa: PLC0415 - SDKs are imported when a lane needs them

    return LaneTools(
        node.SolanaNode,
        payer.SolanaPayer.open,
        checkout.SolanaCheckout,
        sender.SolanaSender.open,
        payer.SolanaPayer.take_back,
        payer_host.SolanaPayerHost,
    )


DESCRIPTOR: Final = Descriptor("solana", _means, spellings)
