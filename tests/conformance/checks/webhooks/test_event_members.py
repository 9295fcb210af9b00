"""The members of an event that only the specification names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import Link
from tests.conformance.checks.trial import find_broken_rows
from tests.conformance.checks.webhooks.changed_events import asset, change_event, data
from tests.conformance.checks.webhooks.scripted_sender import Event, Flaws, Shop, run_check

CHECK = "each_member_of_an_event_is_right"
pytestmark = pytest.mark.usefixtures("quick_service")


class Specified(Shop):
    """A shop whose events have the members of the specification."""

    def _event(self, link: Link, number: int) -> Event:
        event = super()._event(link, number)
        more, label = self.transfers[number - 1].amount - link.microunits, event["data"]["tenant_label"]
        further = {"resource_id": None, "payment_link_token": link.token, "payment_link_label": label}
        if more:
            further["overpaid_microunits"] = str(more)
        return {**event, "api_version": "1", "data": {**event["data"], **further}}


FLAWS: dict[str, Callable[[Event], Event]] = {
    "another version": change_event(api_version="2"),
    "a time before the payment": lambda event: change_event(created=event["created"] - 30)(event),
    "a time that has not come": lambda event: change_event(created=event["created"] + 30)(event),
    "the asset of another network": asset(id="31566704"),
    "a resource": data(resource_id="r1"),
    "no resource": data(resource_id=...),
    "the token of another link": data(payment_link_token="tokenNumber999999"),
    "no label of the link": data(payment_link_label=None),
    "nothing overpaid": data(overpaid_microunits="0"),
}


async def test_an_event_of_the_specification_passes(tmp_path: Path) -> None:
    """Content-Type is right; the User-Agent of the scripted sender is that of its library."""
    verdicts, _ = await run_check(CHECK, tmp_path, shop=Specified())
    assert verdicts == {"WH-BODY-15": Verdict.PASS, "WH-DELIV-14": Verdict.FAIL}


@pytest.mark.parametrize("flaw", FLAWS)
async def test_a_wrong_member_breaks_the_row(flaw: str, tmp_path: Path) -> None:
    """Each member that is wrong, absent or of a neighbour breaks the row."""
    verdicts, _ = await run_check(CHECK, tmp_path, Flaws(event=FLAWS[flaw]), shop=Specified())
    assert "WH-BODY-15" in find_broken_rows(verdicts)
