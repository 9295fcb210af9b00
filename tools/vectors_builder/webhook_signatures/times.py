"""Deliveries that verify and are too old, or of a time to come."""

from __future__ import annotations

from collections.abc import Iterator

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.webhook_signatures import clauses
from tools.vectors_builder.webhook_signatures.deliveries import HONEST, Delivery, T, draft_refusal


def drafts() -> Iterator[Draft]:
    """Yield times outside the tolerance, to either side, and in other units."""
    why = "A delivery that somebody kept is not taken later"
    yield _late("old/one-second-over", HONEST.of(late=301), "The time is a second too old.", why)
    yield _late("old/a-day", HONEST.of(late=86_400), "The time is a day old.", why)
    yield _late("old/no-tolerance", HONEST.of(late=1, tolerance=0), "The time is a second old.", "Nothing is allowed")
    why = "A time to come would be good for longer than the tolerance"
    yield _late("future/one-second-over", HONEST.of(late=-301), "The time is a second too far ahead.", why)
    yield _late("future/a-year", HONEST.of(late=-31_536_000), "The time is a year ahead.", why)
    yield _late("future/no-tolerance", HONEST.of(late=-1, tolerance=0), "The time is a second ahead.", why)
    why = "Seconds are meant (interface, Authentication); no age in another unit is small"
    thousand = HONEST.of(t=1000 * T, late=T + 2 - 1000 * T)
    yield _late("unit/milliseconds", thousand, "The time is in milliseconds.", why)
    yield _late("unit/minutes", HONEST.of(t=T // 60, late=T + 2 - T // 60), "The time is in minutes.", why)
    yield _late("unit/zero", HONEST.of(t=0, late=T), "The time is zero.", "A sender without a clock")
    why = "v2 ages as v1 does"
    v2 = HONEST.of(scheme="v2")
    yield _late("v2/one-second-over", v2.of(late=301), "The time is a second too old.", why, clauses.V2)
    yield _late("v2/future", v2.of(late=-301), "The time is a second too far ahead.", why, clauses.V2)


def _late(name: str, delivery: Delivery, fault: str, why: str, further: tuple[str, ...] = ()) -> Draft:
    return draft_refusal(f"time/{name}", delivery, delivery.header, fault, why, (*clauses.TIME, *further))
