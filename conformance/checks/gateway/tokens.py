"""GW-LINK-17: nobody can guess a token."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.surfaces.gateway.calls import link, token_of

_SAMPLE = 100
_IN_A_ROW = 20
# What is counted in a sample of this size falls short of what tokens of just 64 bits hold by a little.
_ENOUGH_BITS = 60.0
# Sizes of the usual alphabets: a sample shows nearly all symbols of the small ones and most of the large ones.
_ALPHABETS = (1, 2, 4, 8, 10, 16, 26, 32, 36, 58, 64)


def observed_bits(tokens: Sequence[str]) -> float:
    """Return the variety that a sample shows, in bits: for each place the alphabet that its symbols make likely."""
    places = itertools.zip_longest(*tokens, fillvalue="")
    seen = (len(set(place)) for place in places)
    return sum(math.log2(next((size for size in _ALPHABETS if size >= count), count)) for count in seen)


def counts_up(tokens: Sequence[str]) -> bool:
    """Return whether tokens made one after the other are steps of a counter, read from either end.

    A time in front of random digits makes tokens rise, too, but not by the same step.
    """
    symbols = sorted(set("".join(tokens)))
    for texts in (tokens, [token[::-1] for token in tokens]):
        numbers = [_number(text, symbols) for text in texts]
        steps = {later - earlier for earlier, later in itertools.pairwise(numbers)}
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
    fix="Make each token of at least 16 bytes of the operating system's random source; never of a counter or the time.",
)
async def tokens_cannot_be_guessed(case: Case) -> None:
    """Tokens show at least 64 bits of variety and no counter pattern over a sample.

    Creates 20 links one after the other and 80 more at once. Expects all tokens to differ, symbols that vary in enough
    places for 64 bits, and no common step from one token to the next.
    """
    tenant = case.session.tenants.get()
    answers = [await link(case, tenant) for _ in range(_IN_A_ROW)]
    answers += await run_concurrently(link(case, tenant) for _ in range(_SAMPLE - _IN_A_ROW))
    tokens = [token for answer in answers if (token := token_of(answer)) is not None]
    if len(tokens) < _SAMPLE:
        case.inconclusive("GW-LINK-17", "links came without tokens, which GW-LINK-03 judges")
        return
    different = len(set(tokens)) == len(tokens)
    case.expect("GW-LINK-17", different, "all tokens different", f"{len(set(tokens))} of {len(tokens)}")
    bits = observed_bits(tokens)
    case.expect("GW-LINK-17", bits >= _ENOUGH_BITS, "at least 64 bits of variety", f"about {bits:.0f} bits")
    counts = counts_up(tokens[:_IN_A_ROW])
    found = "tokens that rise by a common step" if counts else "no common step"
    case.expect("GW-LINK-17", not counts, "no counter", found)
