"""Requests of checkout pages, and payers that pay them: correctly, or wrong in exactly one respect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from conformance.outcome import Inconclusive, OpenPoint
from conformance.vocabulary.lanes.registry import FACTS

# The asset ids of USDC by network key (1.2).
USDC: Mapping[str, str] = {one.key: one.asset_id for lane in FACTS.values() for one in (lane.main, lane.test)}
# The first way of a lane is the default binding of its memo (3.5).
MEMO_WAYS: Mapping[str, tuple[str, ...]] = {name: lane.memo_ways for name, lane in FACTS.items()}

# What the interface leaves open about payments whose owner is not who signs or submits them (3.5).
OTHER_SIGNERS = OpenPoint("the interface leaves open who may sign or submit the transaction that pays a link", "3.5")


@dataclass(frozen=True, slots=True)
class CheckoutRequest:
    """The payment that a checkout page asks for.

    Attributes:
        asset: Asset id as its chain writes it.
        address: Receiving address.
        amount: Atomic units of the asset.
        memo: Memo text.
        reference: Reference account of the QR code, if it has one; it helps to find a payment and binds nothing.
    """

    asset: str
    address: str
    amount: int
    memo: str
    reference: str | None = None

    def with_changes(self, **members: Any) -> CheckoutRequest:
        """Return a copy with members changed."""
        return replace(self, **members)


@dataclass(frozen=True, slots=True)
class WrongPayment:
    """One unusual way to pay a bill: wrong, or right in another shape of transaction.

    Attributes:
        name: What is wrong, or the shape, in words.
        pay: Sends the payment, waits until its result is final, and returns the transaction's id.
        needs_pinned_binding: Whether it is wrong only for a profile that pins the memo's binding.
        needs_checkout_claim: Whether it is wrong only for a target that claims specification 3.5 (`gateway.checkout`).
        beyond: Of a right payment, what the interface leaves open: a target may refuse it.
        has_other_signer: Whether another account than the owner of the funds signs or submits it, or pays its fee.
    """

    name: str
    pay: Callable[[CheckoutRequest], Awaitable[str]] = field(repr=False)
    needs_pinned_binding: bool = False
    needs_checkout_claim: bool = False
    beyond: str | None = None
    has_other_signer: bool = False


class CheckoutPayer(Protocol):
    """A payer of bills on any lane.

    Every method raises `Inconclusive` if the node cannot be asked or refuses what it should take.
    """

    async def settle(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill with its memo in one of `MEMO_WAYS`, and return the transaction's id.

        The transaction is then on the chain: in a block, or confirmed on chains with that level.
        """

    async def settle_again(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill again; from another account, if an account can use a memo only once."""

    async def read_credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return the changes of owners' balances by a confirmed transaction, in atomic units, without zeros."""

    async def read_holding(self, address: str, asset: str) -> int:
        """Return the balance of an address, in atomic units."""

    async def list_other_shapes(self, way: str | None = None) -> Sequence[WrongPayment]:
        """Return right payments in the other shapes of honest payers' transactions, with the memo bound by `way`."""

    def list_unbound_payments(self) -> Sequence[WrongPayment]:
        """Return payments of the amount to the address, without the memo."""

    def list_short_payments(self) -> Sequence[WrongPayment]:
        """Return payments with the memo, of less than the amount."""

    def list_stray_payments(self) -> Sequence[WrongPayment]:
        """Return payments with the memo and the amount, to another address than the bill's."""

    async def list_other_assets(self, bill: CheckoutRequest) -> Sequence[WrongPayment]:
        """Return payments with the memo, in another asset than the bill's."""

    def list_failing_payments(self) -> Sequence[WrongPayment]:
        """Return right payments that fail: the node refuses them, or the chain records an error."""

    async def settle_with_memos(self, bill: CheckoutRequest, memos: Sequence[str]) -> str:
        """Make the one transfer of a bill under several memos, and return the transaction's id.

        Raises:
            Inconclusive: A transaction of this chain cannot do that.
        """

    async def submit(self, bill: CheckoutRequest) -> str:
        """Give a right payment to the node, and return its id at once."""

    async def wait_for_success(self, tx_id: str) -> None:
        """Wait until a transaction is on the chain, with success."""

    def list_group(self, tx_id: str) -> Sequence[str]:
        """Return the ids of all transactions of the group of a transaction, including its own."""


def list_other_texts(memo: str) -> Sequence[tuple[str, str, bool]]:
    """Return texts that are not the memo: the fault, the text, and whether only a pinned binding makes it wrong."""
    # The interface does not fix how a memo is compared. A target may search for the memo inside a longer text, or
    # ignore the case of letters. So these texts are wrong only for a profile that pins the binding.
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
    """Return a payment for each of `list_other_texts`, bound in the lane's first way or in the given way."""

    def make_payment(place: int) -> Callable[[CheckoutRequest], Awaitable[str]]:
        return lambda bill: payer.settle(bill.with_changes(memo=_select_text(bill.memo, place)), way)

    where = "" if way is None else f", as {way}"
    # The real memo is known only when the bill is paid. This stand-in has the same shape, so the list is the same.
    texts = enumerate(list_other_texts("service:token"))
    return [
        WrongPayment(name + where, make_payment(place), needs_pin, way is not None)
        for place, (name, _, needs_pin) in texts
    ]


def _select_text(memo: str, place: int) -> str:
    texts = list_other_texts(memo)
    # The stand-in memo has a colon, but the target's memo may have none.
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
    """Return a payment of the amount in two parts."""

    # The second part is the difference, so that both parts together are exact for odd amounts, too.
    async def halves(bill: CheckoutRequest) -> str:
        await payer.settle(bill.with_changes(amount=bill.amount // 2))
        return await payer.settle(bill.with_changes(amount=bill.amount - bill.amount // 2))

    # A service may add up partial payments: only a pinned binding makes this wrong.
    return WrongPayment("the amount in two transactions, a part without the other", halves, needs_pinned_binding=True)
