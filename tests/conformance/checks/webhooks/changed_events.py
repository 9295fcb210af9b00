"""Events that differ from an honest one in some members, or in how they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.conformance.checks.webhooks.scripted_sender import Event


def change_event(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event; a member that is `...` is left out."""

    def change(event: Event) -> Event:
        members_and_event = {**event, **members}
        return {name: value for name, value in members_and_event.items() if value is not ...}

    return change


def data(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event's data."""

    def change(event: Event) -> Event:
        return {**event, "data": change_event(**members)(event["data"])}

    return change


def asset(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event's asset."""

    def change(event: Event) -> Event:
        return data(asset=change_event(**members)(event["data"]["asset"]))(event)

    return change


def write_with_spaces(event: Event) -> bytes:
    """Return an event as JSON with spaces, in ASCII."""
    return json.dumps(event).encode()
