"""Pairs of receipts of two documents, by kind and place. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.receipts.offline.parsing import Receipt, UnreadableReceipt, taken_apart
from conformance.receipts.offline.reading import Found


@dataclass(frozen=True, slots=True)
class Placed:
    """A receipt of a document.

    Attributes:
        place: Where it stood; empty where the document is the receipt.
        receipt: The receipt; None where it cannot be read.
        fault: Why it cannot be read.
    """

    place: str
    receipt: Receipt | None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Pairs:
    """The receipts of two documents: pairs, and single ones."""

    both: tuple[tuple[Placed, Placed], ...]
    left: tuple[Placed, ...]
    right: tuple[Placed, ...]


def placed(found: Sequence[Found]) -> list[Placed]:
    """Parse the receipts of a document."""
    receipts = []
    for one in found:
        try:
            receipts.append(Placed(one.place, taken_apart(one.token)))
        except UnreadableReceipt as fault:
            receipts.append(Placed(one.place, None, str(fault)))
    return receipts


def paired(left: Sequence[Placed], right: Sequence[Placed]) -> Pairs:
    """Pair the receipts of two documents.

    One of each is a pair, whatever kinds they are. Of several, those of the same kind at the same place are, then those
    of the same kind in their order.
    """
    ones, others = [one for one in left if one.receipt], [one for one in right if one.receipt]
    both: list[tuple[Placed, Placed]] = []
    if len(ones) == len(others) == 1:
        both = [(ones[0], others[0])]
    else:
        both += _taken(ones, others, lambda one: (_kind(one), one.place))
        both += _taken(ones, others, _kind)
    order = {id(one): number for number, one in enumerate(left)}
    both.sort(key=lambda pair: order[id(pair[0])])
    together = {id(one) for pair in both for one in pair}
    alone = [tuple(one for one in side if id(one) not in together) for side in (left, right)]
    return Pairs(tuple(both), alone[0], alone[1])


def _kind(one: Placed) -> str:
    return "" if one.receipt is None else one.receipt.kind


def _taken(ones: list[Placed], others: list[Placed], mark: Callable[[Placed], object]) -> list[tuple[Placed, Placed]]:
    """Take the pairs of equal mark out of both lists, in the order of the first."""
    pairs = []
    for one in tuple(ones):
        other = next((other for other in others if mark(other) == mark(one)), None)
        if other is not None:
            pairs.append((one, other))
            ones.remove(one)
            others.remove(other)
    return pairs
