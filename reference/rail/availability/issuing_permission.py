"""Whether this worker may issue challenges: its terms are in force, as far as the database says (P-CH-13).

Terms are put in force once, when the worker starts; the last who does so decides, by the order of the database. Whoever
is superseded issues nothing more, redeems everything, and comes back only when somebody puts the same terms in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference.protocol.challenge import Terms
from reference.store.terms_history import Generations
from reference.web.clock import WpClock, boot_time
from reference.web.errors import Refused
from reference.web.logs import get_logger

_log = get_logger()
_RETRY_SECONDS = 5
# A worker that cannot ask whether its terms are in force issues for so long; it is less than what grace forgives.
UNSURE_SECONDS = 60.0
_SUPERSEDED_MESSAGE = (
    "another worker has put other terms in force; start this worker anew to put its own in force again, or end it"
)


class IssuingPermission:
    """What a worker knows of its own terms. Calls ask it without a question to the database."""

    def __init__(
        self,
        generations: Generations,
        terms: Mapping[str, tuple[Terms, ...]],
        clock: WpClock,
        monotonic: Callable[[], float] = boot_time,
    ) -> None:
        """Take what the worker asks, by service.

        Args:
            generations: Whose terms are in force.
            terms: This worker's.
            clock: Tells when they were put in force.
            monotonic: Tells how old the last look is.
        """
        self._generations = generations
        self._terms = terms
        self._clock = clock
        self._monotonic = monotonic
        self._stated = False
        self._superseded = False
        self._looked_at = monotonic()

    async def tend(self) -> None:
        """State the terms once, as soon as the time is known; afterwards see whether they are still in force."""
        if not self._stated:
            if self._clock.doubt is not None:
                return
            await self._generations.put_in_force(self._terms, now=self._clock.now())
            self._stated = True
        is_superseded = await self._generations.is_superseded(self._terms)
        self._looked_at = self._monotonic()
        if is_superseded != self._superseded:
            _log.warning("terms_superseded" if is_superseded else "terms_in_force_again")
        self._superseded = is_superseded

    def refuse_issuing(self) -> None:
        """Refuse to issue a challenge that this worker should not issue now. No payer loses by it.

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
