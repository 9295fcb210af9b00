"""Bound on the work of one worker: how many calls may be at work at once (P-CV-25).

Calls that present a payment have places that no other call can take. A payer has spent money, so its call is the last
one to be refused. Such calls also wait for a chain for seconds, which costs no processor time, so they have more
places. A call beyond the bound is refused at once: a client that waits in a long queue gives up, and its call is then
work for nothing.
"""

from __future__ import annotations

from typing import Self

from reference.protocol.error_codes import WEB_LAYER
from reference.web.errors import refusal
from reference.web.settings import CommonSettings


class WorkLimit:
    """The calls that are at work in this process.

    Attributes:
        at_work: Calls at work, of those without and those with a payment.
        refused: Calls that were refused since the start, in the same order.
    """

    __slots__ = ("_most", "at_work", "refused")

    def __init__(self, calls: int, paid_calls: int) -> None:
        """Take how many calls without a payment may be at work at once, and how many with one."""
        self._most = calls, paid_calls
        self.at_work = [0, 0]
        self.refused = [0, 0]

    @classmethod
    def of(cls, settings: CommonSettings) -> Self:
        """Return the bound that the settings of a service name."""
        return cls(settings.work_limit, settings.paid_work_limit)

    def begin(self, *, is_paid: bool) -> None:
        """Count a call as being at work until `end`.

        Raises:
            Refused: 503; as many are at work as may be.
        """
        if self.at_work[is_paid] >= self._most[is_paid]:
            self.refused[is_paid] += 1
            raise refusal(WEB_LAYER["overloaded"])
        self.at_work[is_paid] += 1

    def end(self, *, is_paid: bool) -> None:
        """Count a call as no longer being at work."""
        self.at_work[is_paid] -= 1
