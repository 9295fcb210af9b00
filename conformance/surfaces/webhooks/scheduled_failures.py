"""Paid links whose events fail at every destination by a plan, so that the whole schedule of attempts is seen."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.surfaces.gateway.calls import new_text
from conformance.surfaces.gateway.orders import open_link
from conformance.surfaces.webhooks.paid_links import PaidLink, pay_link, wait_for_events, with_named_randomness
from conformance.vocabulary.profile_claims import SPECIFICATION
from conformance.webhook_receiver.inbox import Place
from conformance.webhook_receiver.raw_receiver import HANG_UP, SILENCE, Reply, redirect

# More than the buffers of a connection on this machine hold.
LONG_BODY_BYTES: Final = 32 * 2**20
SILENT: Final = "no answer"
# Ways in which an attempt fails; `elsewhere` is the address of a redirect.
FAILURES: Final[Mapping[str, Callable[[str], Reply]]] = {
    SILENT: lambda _: SILENCE,
    "302": lambda elsewhere: redirect(elsewhere, 302),
    "404": lambda _: Reply(404),
    "a closed connection": lambda _: HANG_UP,
    "410": lambda _: Reply(410),
    "500 with a long body": lambda _: Reply(500, filler_bytes=LONG_BODY_BYTES),
    "307": redirect,
    "400": lambda _: Reply(400),
    "304": lambda _: Reply(304),
    "308": lambda elsewhere: redirect(elsewhere, 308),
    "503 with Retry-After": lambda _: Reply(503, (("Retry-After", "1"),)),
}
DELIVERIES: Final[Mapping[str, Reply]] = {
    "206": Reply(206, body=b"[]"),
    "200 with a long body": Reply(200, filler_bytes=LONG_BODY_BYTES),
    "202": Reply(202),
}
# Failed attempts of an event before it is taken.
_FAILURES_BEFORE_SUCCESS: Final = 2
_NAME: Final = "webhook schedule"


@dataclass(frozen=True, slots=True)
class PlannedDelivery:
    """The planned answers to one event at one destination.

    Attributes:
        place: The destination.
        sale: The paid link.
        answers: The names of the answers, in order; after the last of them no attempt is due.
        is_taken: Whether the last answer is a 2xx.
    """

    place: Place
    sale: PaidLink
    answers: Sequence[str]
    is_taken: bool


@dataclass(frozen=True, slots=True)
class ScheduledFailures:
    """The planned deliveries of two paid links, and a word of the address to which redirects lead."""

    deliveries: Sequence[PlannedDelivery]
    elsewhere: str


def has_schedule(case: Case) -> bool:
    """Return whether a target claims the specification, and its schedule and time-out are known."""
    bindings = case.profile.webhook_bindings
    return case.profile.claims.includes(SPECIFICATION) and bool(bindings.schedule) and bindings.timeout is not None


async def scheduled_failures(case: Case) -> ScheduledFailures:
    """Return the scene of the first play, which is made once in a run on the check's lane.

    Raises:
        Inconclusive: As `fail_on_schedule`.
    """
    scene: ScheduledFailures = await case.session.find_once(
        _NAME, lambda: fail_on_schedule(with_named_randomness(case, _NAME))
    )
    return scene


async def fail_on_schedule(case: Case) -> ScheduledFailures:
    """Pay two links on the check's lane, and let their events fail at each destination of the tenant.

    The event of one fails at each attempt, and the first attempt is not answered. The event of the other fails twice,
    and is then answered with a 2xx.

    Raises:
        Inconclusive: A link could not be made or paid, or the suite cannot receive.
    """
    count, elsewhere = len(case.profile.webhook_bindings.schedule or ()), new_text(case, "moved")
    failing_link, taken_link = await run_concurrently(open_link(case) for _ in range(2))
    places = case.session.inbox.of_tenant(failing_link.order.tenant.name)
    plans = [_draw_answers(case.rng, number, len(places), count) for number in range(len(places))]
    for place, (failing, taken) in zip(places, plans, strict=True):
        address = f"{place.destination.url.rstrip('/')}/{elsewhere}"
        replies = {**{name: reply(address) for name, reply in FAILURES.items()}, **DELIVERIES}
        case.session.inbox.script(failing_link.order.mark, place, [replies[name] for name in failing])
        case.session.inbox.script(taken_link.order.mark, place, [replies[name] for name in taken])
    unheard_sales = await run_concurrently(pay_link(case, link) for link in (failing_link, taken_link))
    failing_sale, taken_sale = await run_concurrently(wait_for_events(case, sale) for sale in unheard_sales)
    planned = [PlannedDelivery(place, failing_sale, plan[0], False) for place, plan in zip(places, plans, strict=True)]
    planned += [PlannedDelivery(place, taken_sale, plan[1], True) for place, plan in zip(places, plans, strict=True)]
    return ScheduledFailures(planned, elsewhere)


def _draw_answers(rng: random.Random, number: int, place_count: int, count: int) -> tuple[Sequence[str], Sequence[str]]:
    """Draw the answers of one destination, so that all destinations together have as many kinds as possible."""
    names = [name for name in FAILURES if name != SILENT]
    own_names = [name for place, name in enumerate(names) if place % place_count == number % place_count]
    rng.shuffle(own_names)
    # A 3xx comes to every destination, also to one that has few attempts.
    own_names.sort(key=lambda name: name not in {"302", "307", "308"})
    drawn = list(itertools.islice(itertools.cycle(own_names), count))
    rng.shuffle(drawn)
    before = min(_FAILURES_BEFORE_SUCCESS, count)
    # With a short schedule, kinds are left over for the event that is taken in the end.
    kinds = itertools.cycle([*own_names[count:], *reversed(drawn)])
    taken = [*itertools.islice(kinds, before), list(DELIVERIES)[number % len(DELIVERIES)]]
    return [SILENT, *drawn], taken
