"""Telling those who follow a link that it has ended, at once where it ended in this very process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

# Each follower is a connection and a look at the database every second.
_MOST_PER_LINK = 64
_MOST = 4096


class LinkAnnouncements:
    """Wakes whoever follows a link; other workers are noticed by reading the link again."""

    def __init__(self) -> None:
        self._followers: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def follow(self, link_id: str) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever the link is announced."""
        event = asyncio.Event()
        self._followers.setdefault(link_id, set()).add(event)
        try:
            yield event
        finally:
            followers = self._followers[link_id]
            followers.discard(event)
            if not followers:
                del self._followers[link_id]

    def is_crowded(self, link_id: str) -> bool:
        """Return whether a link, or the process, has more followers than may stay."""
        if len(self._followers.get(link_id, ())) > _MOST_PER_LINK:
            return True
        return sum(map(len, self._followers.values())) > _MOST

    def announce(self, link_id: str) -> None:
        """Wake the followers of a link."""
        for event in self._followers.get(link_id, ()):
            event.set()
