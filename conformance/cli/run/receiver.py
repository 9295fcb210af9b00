"""The reference's webhook receiver under test, for a mutant that is one of a receiver."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from conformance.selftest.kill_lists import load_kill_lists
from conformance.surfaces.webhooks.own_listener import started_receiver
from conformance.target import Profile, Receiver, Secret

_MODULE: Final = "reference.variants.receiver"
_SECRET: Final = "WP_RECEIVER_SECRET"  # noqa: S105 - a variable's name


@asynccontextmanager
async def with_receiver(profile: Profile, mutant: str | None) -> AsyncIterator[Profile]:
    """Yield the profile of our own stack, with the broken receiver under test where the mutant is one of a receiver.

    The receiver runs until this is left.

    Raises:
        Inconclusive: It did not start.
    """
    if mutant is None or not any(one.mutant == mutant and one.receiver for one in load_kill_lists()):
        yield profile
        return
    async with started_receiver(("reference.variants.mutants", mutant, _MODULE), _SECRET) as started:
        os.environ[_SECRET] = started.secret
        try:
            receiver = Receiver(url=started.url, effects=started.effects, secret=Secret(env=_SECRET))
            yield profile.model_copy(update={"webhook": profile.webhook.model_copy(update={"receiver": receiver})})
        finally:
            del os.environ[_SECRET]
