"""How long a challenge can be presented if payers could not be served for a while (P-ST-01, decision 0044)."""

from __future__ import annotations

from collections.abc import Iterable


def last_moment(unix: int, ttl: int, absences: Iterable[tuple[int, int]], *, grace: int) -> int:
    """Return the last unix second in which a challenge can be presented for the first time.

    Args:
        unix: When it was issued.
        ttl: Its lifetime in seconds.
        absences: Beginnings and ends of the times in which no payer could be served, in unix seconds, in any order.
        grace: Seconds added after an absence, for payers that waited.
    """
    # Time in which no payer could be served does not count, and payers that waited get `grace` on top. Only the
    # time to present a payment is extended, not the time to pay: the block's time is compared with the original
    # end. Otherwise an absence would let a payer pay an old price.
    ends, counted_until, is_extended = unix + ttl, unix, False
    # Absences of several workers and nodes overlap. Sorting them and counting only what is after `counted_until`
    # keeps an overlap from extending the lifetime twice.
    for since, until in sorted(absences):
        begins = max(since, counted_until)
        # The lifetime was over before this absence began, so the absence kept no payer from presenting.
        if begins > ends:
            break
        if until > begins:
            ends += until - begins
            counted_until, is_extended = until, True
    return ends + grace if is_extended else ends
