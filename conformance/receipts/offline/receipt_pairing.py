"""Matching of the receipts of two documents, by kind and place. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.receipts.offline.parsing import Receipt, UnreadableReceipt, parse_receipt
from conformance.receipts.offline.reading import Found


@dataclass(frozen=True, slots=True)
class Placed:
    """A receipt of a document.

    Attributes:
        place: Its place; empty if the document itself is the receipt.
        receipt: The receipt; None if it cannot be read.
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


def parse_receipts(found_receipts: Sequence[Found]) -> list[Placed]:
    """Parse the receipts of a document."""
    receipts = []
    for found_receipt in found_receipts:
        try:
            receipts.append(Placed(found_receipt.place, parse_receipt(found_receipt.token)))
        except UnreadableReceipt as fault:
            receipts.append(Placed(found_receipt.place, None, str(fault)))
    return receipts


def pair_receipts(left_receipts: Sequence[Placed], right_receipts: Sequence[Placed]) -> Pairs:
    """Pair the receipts of two documents.

    A single receipt on each side is a pair of any kinds. Otherwise those of the same kind at the same place are pairs,
    then those of the same kind in their order.
    """
    left_readable, right_readable = (
        [one for one in left_receipts if one.receipt],
        [one for one in right_receipts if one.receipt],
    )
    pairs: list[tuple[Placed, Placed]] = []
    # A user who compares two single receipts means these two, even if their kinds differ.
    if len(left_readable) == len(right_readable) == 1:
        pairs = [(left_readable[0], right_readable[0])]
    else:
        pairs += _take_pairs(left_readable, right_readable, lambda one: (_kind(one), one.place))
        pairs += _take_pairs(left_readable, right_readable, _kind)
    # Pairs appear in the order of the left document, regardless of how they were found.
    order = {id(one): number for number, one in enumerate(left_receipts)}
    pairs.sort(key=lambda pair: order[id(pair[0])])
    together = {id(one) for pair in pairs for one in pair}
    alone = [tuple(one for one in side if id(one) not in together) for side in (left_receipts, right_receipts)]
    return Pairs(tuple(pairs), alone[0], alone[1])


def _kind(placed_receipt: Placed) -> str:
    return "" if placed_receipt.receipt is None else placed_receipt.receipt.kind


def _take_pairs(
    left_receipts: list[Placed], right_receipts: list[Placed], mark: Callable[[Placed], object]
) -> list[tuple[Placed, Placed]]:
    """Remove pairs with equal marks from both lists and return them, in the order of the first list."""
    pairs = []
    for left_receipt in tuple(left_receipts):
        match = next((match for match in right_receipts if mark(match) == mark(left_receipt)), None)
        if match is not None:
            pairs.append((left_receipt, match))
            left_receipts.remove(left_receipt)
            right_receipts.remove(match)
    return pairs
