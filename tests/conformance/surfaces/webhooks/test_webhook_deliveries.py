"""What the suite sends to a receiver: genuine where it says so, and wrong where it says so."""

from __future__ import annotations

import json
import random
import re

import pytest

from conformance.oracles import webhook_signature
from conformance.surfaces.webhooks.sample_deliveries import (
    STYLES,
    Event,
    Signer,
    forge_deliveries,
    new_event,
    reserialise,
    with_members,
    write_oddly,
)

SECRET = "weldw_deliveries-secret"
T = 1767225600
TEMPLATES = ["{t}.{body}", "{body}", "{body}.{t}", "{t}{body}", "v1:{t}:{body}"]


def event() -> Event:
    """Return a new event."""
    return new_event(random.Random(1), "algorand:testnet", T)


def test_an_event_has_the_shape_of_the_interface() -> None:
    """Each is of its own id and transaction, and its two amounts are one."""
    first_event, second_event = event(), event()
    assert re.fullmatch(r"evt_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first_event["id"])
    assert first_event["id"] != second_event["id"]
    assert first_event["data"]["tx_id"] != second_event["data"]["tx_id"]
    pretty = first_event["data"]["amount_pretty"].removesuffix(" USDC").replace(".", "")
    assert pretty + "0000" == first_event["data"]["amount_microunits"]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("style", STYLES)
def test_a_genuine_delivery_verifies(template: str, style: str) -> None:
    """Whatever is covered and however it is written, the header is in the strict form and its v1 fits."""
    delivery = Signer(SECRET, template, style).sign(event(), T)
    header = webhook_signature.read(delivery.value or "")
    assert header.faults == ()
    assert webhook_signature.verify(header, [SECRET], template, delivery.body) == 0
    assert json.loads(delivery.body)["id"] == delivery.event_id


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("style", STYLES)
def test_no_forgery_verifies(template: str, style: str) -> None:
    """Each is of an event of its own, still JSON, and wrong even for the most tolerant reader of the header."""
    forgeries = forge_deliveries(Signer(SECRET, template, style), event, T)
    assert len(forgeries) >= 14
    assert len({one.event_id for one in forgeries.values()}) == len(forgeries)
    for forgery_name, forgery in forgeries.items():
        assert json.loads(forgery.body)["id"] == forgery.event_id, forgery_name
        header = webhook_signature.read(forgery.value or "")
        assert webhook_signature.verify(header, [SECRET], template, forgery.body) is None, forgery_name


@pytest.mark.parametrize("style", STYLES)
def test_what_is_written_anew_is_the_same_json_in_other_bytes(style: str) -> None:
    """Three other forms, under a signature that does not fit these bytes."""
    rewritten = reserialise(Signer(SECRET, "{t}.{body}", style), event, T)
    assert set(rewritten) == set(STYLES) - {style}
    for delivery in rewritten.values():
        header = webhook_signature.read(delivery.value or "")
        assert webhook_signature.verify(header, [SECRET], "{t}.{body}", delivery.body) is None


def test_odd_bytes_are_the_event() -> None:
    """They parse to the same event, and none of the usual forms gives them."""
    odd_event = event()
    assert json.loads(write_oddly(odd_event)) == odd_event
    assert write_oddly(odd_event) not in {style(odd_event) for style in STYLES.values()}


def test_further_members_leave_the_known_ones() -> None:
    """Growing an event changes nothing of it, nor the event that it was made from."""
    wide_event = event()
    grown = with_members(wide_event, {"a": 1}, {"b": 2}, {"c": 3})
    assert (grown["a"], grown["data"]["b"], grown["data"]["asset"]["c"]) == (1, 2, 3)
    assert "b" not in wide_event["data"]
    assert "c" not in wide_event["data"]["asset"]
    del grown["a"], grown["data"]["b"], grown["data"]["asset"]["c"]
    assert grown == wide_event
