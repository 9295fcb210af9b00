"""The webhook receiver of the reference, started as a mutant of a receiver."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from conformance.selftest.kill_lists import load_kill_lists
from conformance.surfaces.webhooks.receiver_processes import started_receiver
from conformance.target import Profile, Receiver, Secret

_MODULE: Final = "reference.variants.receiver"
_SECRET: Final = "WP_RECEIVER_SECRET"  # noqa: S105 - a variable's name


@asynccontextmanager
async def with_receiver(profile: Profile, mutant: str | None) -> AsyncIterator[Profile]:
    """Yield the profile of the reference; if the mutant is one of a receiver, with that receiver under test.

    The receiver runs until the context ends.

    Raises:
        Inconclusive: The receiver did not start.
    """
    if mutant is None or not any(one.mutant == mutant and one.receiver for one in load_kill_lists()):
        yield profile
        return
    async with started_receiver(("reference.variants.mutants", mutant, _MODULE), _SECRET) as started:
        # A profile names secrets by environment variable or file, and never contains them.
        os.environ[_SECRET] = started.secret
        try:
            receiver = Receiver(url=started.url, effects=started.effects, secret=Secret(env=_SECRET))
            yield profile.model_copy(update={"webhook": profile.webhook.model_copy(update={"receiver": receiver})})
        finally:
            del os.environ[_SECRET]
