"""The chain side of a payer under test: its account, its payees, the money that arrived, and the rail's acceptance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from conformance.vocabulary.lanes.registry import FACTS


@dataclass(frozen=True, slots=True, repr=False)
class HostedAccount:
    """A funded account that is made for a payer under test.

    Attributes:
        address: Its address as the chain writes it.
        key: Its private key, as the account file of the lane contains it.
        spellings: Other texts of the same key, none of which a payer may show.
    """

    address: str
    key: str = field(repr=False)
    spellings: tuple[str, ...] = field(default=(), repr=False)


# The lanes on which the suite plays a rail of plain x402 version 2.
STOCK_LANES: Final = tuple(name for name, lane in FACTS.items() if lane.has_stock_form)
NO_STOCK_FORM: Final = f"the suite plays a rail without a weld on {' and '.join(STOCK_LANES)} only"


class PayerHost(Protocol):
    """Makes the accounts of payers under test on one lane, and reads what they paid.

    Every method raises `Inconclusive` if the node cannot be asked.
    """

    @property
    def caip2(self) -> str:
        """CAIP-2 name of the network that the node reports."""

    async def open_account(self, asset: str) -> HostedAccount:
        """Return a new account that holds coin for fees and many times any price of the suite in an asset."""

    async def open_payee(self, asset: str) -> str:
        """Return a new address that can receive an asset."""

    def misspell_address(self, address: str) -> str:
        """Return a text that differs from an address in one character and is no address of the chain."""

    async def make_lookalike(self, account: HostedAccount, payee: str) -> str:
        """Return the id of another asset with the name of USDC that the account holds and the payee can receive."""

    async def read_units(self, address: str, asset: str) -> int:
        """Return the atomic units of an asset that an address holds."""

    async def describe_binding(self, asset: str, token: str) -> Mapping[str, Any]:
        """Return the members of `extra` that are the lane's own, for a challenge token."""

    async def carries_memo(self, asset: str, tx_id: str, memo: str) -> bool:
        """Return whether a transaction binds the memo of a link, in a way of the lane (3.5)."""

    async def accept(self, challenge: Mapping[str, Any], proof: Mapping[str, Any]) -> str:
        """Judge a proof as a rail does, settle it if the lane's rail settles, and return the transaction's id.

        Args:
            challenge: `token`, `asset`, `amount`, `pay_to`, `caip2`, `issued_at`, `ttl_seconds` and `service_word`.
            proof: The object in `X-PAYMENT`.

        Raises:
            PaymentRefusal: It does not pay the challenge.
        """


@runtime_checkable
class StockHost(PayerHost, Protocol):
    """A `PayerHost` that also takes payments of plain x402 version 2, scheme `exact`."""

    async def describe_stock_offer(self, asset: str) -> Mapping[str, Any]:
        """Return the members of `extra` in an `exact` offer of plain x402 version 2."""

    async def accept_stock(self, offer: Mapping[str, Any], payload: Mapping[str, Any]) -> str:
        """Judge a payload of the scheme `exact` as a facilitator does, settle it, and return the transaction's id.

        Args:
            offer: `asset`, `amount`, `pay_to` and `caip2`.
            payload: The member `payload` of the proof.

        Raises:
            PaymentRefusal: It does not pay the offer.
        """
