"""The newest block of each chain, for those who ask what time it is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from reference.lanes.lane import ChainUnavailable, Lane


def newest_blocks(lanes: Mapping[str, Lane]) -> Mapping[str, Callable[[], Awaitable[tuple[int, int] | None]]]:
    """Return, by network key, what asks for position and unix seconds of a newest block: None while nobody can tell."""
    return {key: _asking(lane) for key, lane in lanes.items()}


def _asking(lane: Lane) -> Callable[[], Awaitable[tuple[int, int] | None]]:
    async def newest() -> tuple[int, int] | None:
        try:
            head = await lane.finder.head()
        except ChainUnavailable:
            return None
        return None if head.time is None else (head.position, head.time)

    return newest
