"""Announcements to the followers of a link when it ends in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

# Each follower costs a connection and a query every second, and any client that knows the address of a page can follow
# it. Later clients receive the status once and poll instead (decision 0021).
_MOST_PER_LINK = 64
_MOST = 4096


class LinkAnnouncements:
    """Wakes the followers of a link. What other workers do, a follower sees when it reads the link again."""

    def __init__(self) -> None:
        self._followers: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def follow(self, link_id: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever the link is announced."""
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
