"""What a checkout page asks for, and payers that pay it: rightly, and wrong in exactly one thing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from conformance.outcome import Inconclusive
from conformance.vocabulary.lanes.registry import FACTS

# The asset ids of USDC by network key (1.2).
USDC: Mapping[str, str] = {one.key: one.asset_id for lane in FACTS.values() for one in (lane.main, lane.test)}
# The first way of a lane is how its memo is bound when nobody says otherwise (3.5).
MEMO_WAYS: Mapping[str, tuple[str, ...]] = {name: lane.memo_ways for name, lane in FACTS.items()}


@dataclass(frozen=True, slots=True)
class CheckoutRequest:
    """What a page asks for.

    Attributes:
        asset: Asset id as its chain writes it.
        address: Receiving address.
        amount: Atomic units of the asset.
        memo: Memo text.
        reference: Reference account of the QR code, where it has one; it helps to find and binds nothing.
    """

    asset: str
    address: str
    amount: int
    memo: str
    reference: str | None = None

    def with_changes(self, **members: Any) -> CheckoutRequest:
        """Return it with members changed."""
        return replace(self, **members)


@dataclass(frozen=True, slots=True)
class WrongPayment:
    """One way to pay a bill: wrongly, or rightly by a transaction of another shape than the usual one.

    Attributes:
        name: What is wrong, or the shape, in words.
        pay: Sends it and returns once it can no longer become anything else; the transaction's id.
        needs_pinned_binding: Whether only a profile that pins the memo's binding makes it wrong: the interface leaves it open.
        needs_checkout_claim: Whether only a target that claims to follow specification 3.5 (`gateway.checkout`) says that it is.
        beyond: Of a right payment, what the interface leaves open, so that a target may refuse it.
    """

    name: str
    pay: Callable[[CheckoutRequest], Awaitable[str]] = field(repr=False)
    needs_pinned_binding: bool = False
    needs_checkout_claim: bool = False
    beyond: str | None = None


class CheckoutPayer(Protocol):
    """What every lane's payer can do with a bill; attacks on a node's pool use the lane's payer itself.

    Every method raises `Inconclusive` when the node cannot be asked or refuses what it should take.
    """

    async def settle(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill as it stands, with its memo in one of `MEMO_WAYS`, and return the transaction's id.

        It is on the chain when this returns: in a block, or confirmed where a chain has that word.
        """

    async def settle_again(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill once more that `settle` has paid, from another account where one can carry a memo once only."""

    async def read_credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return by owner what a confirmed transaction changed of an asset, in atomic units; nobody else is named."""

    async def read_holding(self, address: str, asset: str) -> int:
        """Return what an address holds of an asset, in atomic units."""

    async def list_other_shapes(self, way: str | None = None) -> Sequence[WrongPayment]:
        """Return ways that are right, in the other shapes of transaction that honest payers make.

        The memo is bound by `way`; there are none where a shape is known for another way only.
        """

    def list_unbound_payments(self) -> Sequence[WrongPayment]:
        """Return ways that pay address and amount and do not carry the memo."""

    def list_short_payments(self) -> Sequence[WrongPayment]:
        """Return ways that carry the memo and bring less than the amount."""

    def list_stray_payments(self) -> Sequence[WrongPayment]:
        """Return ways that carry the memo and pay the amount to somebody else than the bill's address."""

    async def list_other_assets(self, bill: CheckoutRequest) -> Sequence[WrongPayment]:
        """Return ways that carry the memo and pay in another asset than the bill's."""

    def list_failing_payments(self) -> Sequence[WrongPayment]:
        """Return ways that are right but fail: the node refuses them, or the chain records an error."""

    async def settle_with_memos(self, bill: CheckoutRequest, memos: Sequence[str]) -> str:
        """Make the one transfer of a bill under several memos at once and return the transaction's id.

        Raises:
            Inconclusive: A transaction of this chain cannot do that.
        """

    async def submit(self, bill: CheckoutRequest) -> str:
        """Hand a right payment to the node and return its id at once."""

    async def wait_for_success(self, tx_id: str) -> None:
        """Wait until a transaction is on the chain, with success."""

    def list_group(self, tx_id: str) -> Sequence[str]:
        """Return the ids of the transactions that were sent as one with a transaction, its own among them."""


def list_other_texts(memo: str) -> Sequence[tuple[str, str, bool]]:
    """Return texts that are not the memo: what is wrong, the text, and whether only a pinned binding makes it wrong.

    A text that has the memo inside it may be said to carry it, and letters may count for nothing in it.
    """
    _, colon, token = memo.partition(":")
    texts = [
        ("the memo without its last letter", memo[:-1], False),
        ("the memo and a letter more", memo + "x", True),
        ("a letter before the memo", "x" + memo, True),
        ("the memo and a line end", memo + "\n", True),
        ("the memo in the other case", memo.swapcase(), True),
    ]
    if colon and token:
        texts.append(("the memo without what stands before the colon", token, True))
    return texts


def list_respelled_payments(payer: CheckoutPayer, way: str | None = None) -> Sequence[WrongPayment]:
    """Return the ways of `list_other_texts`, each paid by the lane's first way to bind, or by another that is named."""

    def make_payment(place: int) -> Callable[[CheckoutRequest], Awaitable[str]]:
        return lambda bill: payer.settle(bill.with_changes(memo=_select_text(bill.memo, place)), way)

    where = "" if way is None else f", as {way}"
    texts = enumerate(list_other_texts("service:token"))
    return [
        WrongPayment(name + where, make_payment(place), needs_pin, way is not None)
        for place, (name, _, needs_pin) in texts
    ]


def _select_text(memo: str, place: int) -> str:
    texts = list_other_texts(memo)
    if place >= len(texts):
        raise Inconclusive("the memo has no colon, so it has no text after one")
    return texts[place][1]


def pay_other_amount(payer: CheckoutPayer, name: str, part: Callable[[int], int]) -> WrongPayment:
    """Return a right payment of another amount."""
    return WrongPayment(name, lambda bill: payer.settle(bill.with_changes(amount=part(bill.amount))))


def list_smaller_payments(payer: CheckoutPayer) -> list[WrongPayment]:
    """Return right payments of less."""
    return [
        pay_other_amount(payer, "one unit less", lambda amount: amount - 1),
        pay_other_amount(payer, "half", lambda amount: amount // 2),
        pay_other_amount(payer, "a thousandth", lambda amount: amount // 1000),
    ]


def pay_in_two(payer: CheckoutPayer) -> WrongPayment:
    """Return the amount in two right payments of a part each; whether a service adds them up is its own matter."""

    async def halves(bill: CheckoutRequest) -> str:
        await payer.settle(bill.with_changes(amount=bill.amount // 2))
        return await payer.settle(bill.with_changes(amount=bill.amount - bill.amount // 2))

    return WrongPayment("the amount in two transactions, a part without the other", halves, needs_pinned_binding=True)
