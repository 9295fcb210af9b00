"""The Solana lane in the registry."""

from __future__ import annotations

from typing import Final

from conformance.lanes.descriptor import Descriptor, LaneTools
from conformance.lanes.solana.transaction_ids import spellings


def _means() -> LaneTools:
    from conformance.lanes.solana import (  # noqa: PLC0415 - SDKs are imported when a lane needs them
        checkout,
        node,
        payer,
        sender,
        tested_payer_accounts,
    )

    return LaneTools(
        node.SolanaNode,
        payer.SolanaPayer.open,
        checkout.SolanaCheckout,
        sender.SolanaSender.open,
        payer.SolanaPayer.take_back,
        tested_payer_accounts.SolanaPayerHost,
    )


DESCRIPTOR: Final = Descriptor("solana", _means, spellings)
