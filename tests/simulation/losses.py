"""Losses that worlds have found, each as the shortest list of operations that shows it (found on b248351 and later).

Each is mended, and must not come back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.simulation.shrinking import command
from tests.simulation.world import Scenario, run


def _find_scenario(seed: int, kinds: str, *only: int) -> Scenario:
    return Scenario(seed, only[-1] + 1, only, tuple(kinds.split(",")))


LOSSES: Mapping[str, Scenario] = {
    # Workers overlap on two prices: what the stray one quotes is unknown_challenge for good.
    "price-change": _find_scenario(4, "honest,reprice", 13, 19),
    # The database was first opened by a worker whose clock is ahead: what the others quote is unknown.
    "skewed-clocks": _find_scenario(6, "honest,skew", 2),
    # A worker's clock jumps forward and stays there: challenge_expired, and a link that was paid in time is expired.
    "clock-jump": _find_scenario(14, "honest,jump", 12, 13),
    "clock-jump-and-link": _find_scenario(6, "link,jump", 2, 9),
    # A node is away for longer than lifetime and settle window: who obeyed the 503 gets challenge_expired for good.
    "long-outage": _find_scenario(1, "honest,outage", 45, 46),
    # The same by a node whose answers are broken for so long.
    "broken-answers": _find_scenario(50, "honest,broken_answers", 0, 1, 2, 3, 4),
    # A file cannot be read after the payment was taken: 500 on each call.
    "trusted-file": _find_scenario(1, "honest,trusted_file", 34, 36),
    "key-file": _find_scenario(1, "honest,key_file", 34, 36),
    # A service that is switched off refuses the stored answers of those served before.
    "switched-off": _find_scenario(4, "honest,switch_off", 13, 14),
    # A worker that starts with a clock hours behind serves what it cannot date: its answers are over hours early.
    "undated-answers": Scenario(13, 8, (2, 3, 4, 7), ("honest", "cold_boot"), crowd=4),
    # One Solana transfer with a rail's reference and a link's memo buys both.
    "rail-and-link": _find_scenario(1, "honest,both", 30),
}


def come_back(report: Callable[[str], None]) -> list[str]:
    """Try every loss again and return the names of those that are there."""
    unlost_names = []
    for name, scenario in LOSSES.items():
        outcome = run(scenario)
        paid_count = outcome.counts.get("paid", 0)  # without a payment there is no loss
        if outcome.violations or not paid_count:
            unlost_names.append(name)
        description = (
            str(outcome.violations[0]) if outcome.violations else "gone" if paid_count else "no payer got a quote"
        )
        report(f"{name}: {description[:150]} [{command(scenario)}]")
    return unlost_names
