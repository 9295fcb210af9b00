"""GW-LINK-17: checkout tokens cannot be guessed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.surfaces.gateway.calls import create_link, token_of

_SAMPLE = 100
_IN_A_ROW = 20
# Bits. A sample of this size shows slightly less variety than 64-bit tokens have, so the threshold is below 64.
_ENOUGH_BITS = 60.0
# Sizes of the usual alphabets. A sample contains nearly all symbols of the small ones and most of the large ones, so
# the next size above the count is the likely alphabet.
_ALPHABETS = (1, 2, 4, 8, 10, 16, 26, 32, 36, 58, 64)


def observed_bits(tokens: Sequence[str]) -> float:
    """Return the variety of a sample in bits.

    It is the sum over all positions of the logarithm of the likely alphabet's size.
    """
    places = itertools.zip_longest(*tokens, fillvalue="")
    symbol_counts = (len(set(place)) for place in places)
    return sum(math.log2(next((size for size in _ALPHABETS if size >= count), count)) for count in symbol_counts)


def counts_up(tokens: Sequence[str]) -> bool:
    """Return whether tokens, in the order of their creation, are steps of a counter, read from either end."""
    symbols = sorted(set("".join(tokens)))
    for texts in (tokens, [token[::-1] for token in tokens]):
        numbers = [_number(text, symbols) for text in texts]
        steps = {later - earlier for earlier, later in itertools.pairwise(numbers)}
        # A time in front of random digits makes tokens rise as well, but not by a common step.
        if len(steps) <= len(tokens) // 4:
            return True
    return False


def _number(text: str, symbols: Sequence[str]) -> int:
    value = 0
    for symbol in text:
        value = value * len(symbols) + symbols.index(symbol)
    return value


@check(
    "GW-LINK-17",
    surface="gateway",
    fix="Make each token from 16 or more bytes of the system's random source, never from a counter or the time.",
)
async def tokens_cannot_be_guessed(case: Case) -> None:
    """Tokens show at least 64 bits of variety and no counter pattern over a sample.

    Creates 20 links one after the other and 80 more concurrently. Expects that all tokens differ, that their symbols
    vary enough for 64 bits, and that no common step leads from one token to the next.
    """
    tenant = case.session.tenants.get()
    # In sequence first: the order of creation is known only then, and a counter shows only in that order.
    answers = [await create_link(case, tenant) for _ in range(_IN_A_ROW)]
    answers += await run_concurrently(create_link(case, tenant) for _ in range(_SAMPLE - _IN_A_ROW))
    tokens = [token for answer in answers if (token := token_of(answer)) is not None]
    if len(tokens) < _SAMPLE:
        case.mark_inconclusive("GW-LINK-17", "links came without tokens, which GW-LINK-03 judges")
        return
    all_differ = len(set(tokens)) == len(tokens)
    case.expect("GW-LINK-17", all_differ, "all tokens different", f"{len(set(tokens))} of {len(tokens)}")
    bits = observed_bits(tokens)
    case.expect("GW-LINK-17", bits >= _ENOUGH_BITS, "at least 64 bits of variety", f"about {bits:.0f} bits")
    is_counter = counts_up(tokens[:_IN_A_ROW])
    finding = "tokens that rise by a common step" if is_counter else "no common step"
    case.expect("GW-LINK-17", not is_counter, "no counter", finding)
