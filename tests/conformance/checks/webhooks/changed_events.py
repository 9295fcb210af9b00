"""Events that differ from an honest one in some members, or in how they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.conformance.checks.webhooks.scripted_sender import Event


def changed(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event; a member that is `...` is left out."""

    def change(event: Event) -> Event:
        merged = {**event, **members}
        return {name: value for name, value in merged.items() if value is not ...}

    return change


def data(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event's data."""

    def change(event: Event) -> Event:
        return {**event, "data": changed(**members)(event["data"])}

    return change


def asset(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event's asset."""

    def change(event: Event) -> Event:
        return data(asset=changed(**members)(event["data"]["asset"]))(event)

    return change


def spaced(event: Event) -> bytes:
    """Return an event as JSON with spaces, in ASCII."""
    return json.dumps(event).encode()
