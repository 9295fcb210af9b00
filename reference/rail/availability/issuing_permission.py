"""Whether this worker may issue challenges: its terms are in force, as far as the database says (P-CH-13).

A worker puts its terms in force once, at its start, and the last one decides, in the order of the database. A worker
whose terms were superseded issues nothing more but redeems everything. It issues again only after a worker with the
same terms has started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference.protocol.challenge import Terms
from reference.rail.periodic import LOOK_SECONDS
from reference.store.terms_history import Generations
from reference.web.clock import WpClock, boot_time
from reference.web.errors import Refused
from reference.web.logs import get_logger

_log = get_logger()
_RETRY_SECONDS = 5
# A worker that cannot ask whether its terms are in force issues for so long. The grace of P-CH-13 is longer (300 s), so
# its tokens are still redeemed if other terms are in force meanwhile.
UNSURE_SECONDS = 60.0
_SUPERSEDED_MESSAGE = (
    "another worker has put other terms in force; restart this worker to put its own in force again, or end it"
)


class IssuingPermission:
    """A worker's knowledge of whether its terms are in force. Calls ask it without a query to the database."""

    def __init__(
        self,
        generations: Generations,
        terms: Mapping[str, tuple[Terms, ...]],
        clock: WpClock,
        monotonic: Callable[[], float] = boot_time,
    ) -> None:
        """Take the worker's terms, by service.

        Args:
            generations: The record of whose terms are in force.
            terms: This worker's terms.
            clock: The time at which they are put in force.
            monotonic: Clock for the age of the last query; no setting moves it.
        """
        self._generations = generations
        self._terms = terms
        self._clock = clock
        self._monotonic = monotonic
        self._stated = False
        self._superseded = False
        self._looked_at = monotonic()
        self._next_look_at = self._looked_at

    async def tend(self) -> None:
        """State the terms once, as soon as the time is known; afterwards see whether they are still in force."""
        # Stated once and never again: otherwise two workers with different terms would supersede each other without end
        # (decision 0043).
        if not self._stated:
            # A generation recorded with a wrong time would make tokens of this worker unknown later.
            if self._clock.doubt is not None:
                return
            await self._generations.put_in_force(self._terms, now=self._clock.now())
            self._stated = True
        if self._monotonic() < self._next_look_at:
            return
        is_superseded = await self._generations.is_superseded(self._terms)
        self._looked_at = self._monotonic()
        self._next_look_at = self._looked_at + LOOK_SECONDS
        if is_superseded != self._superseded:
            _log.warning("terms_superseded" if is_superseded else "terms_in_force_again")
        self._superseded = is_superseded

    def refuse_issuing(self) -> None:
        """Refuse to issue a challenge that this worker should not issue now. No payer loses money by that.

        Raises:
            Refused: 503 `clock_in_doubt`, `terms_superseded` or `store_unavailable`.
        """
        self._clock.refuse_in_doubt()
        if self._superseded:
            raise _build_refusal("terms_superseded", _SUPERSEDED_MESSAGE)
        if not self._stated or self._monotonic() - self._looked_at > UNSURE_SECONDS:
            raise _build_refusal(
                "store_unavailable", "the database does not say whether this worker's terms are in force"
            )


def _build_refusal(code: str, message: str) -> Refused:
    return Refused(503, code, message, {"Retry-After": str(_RETRY_SECONDS)})
