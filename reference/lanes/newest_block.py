"""The newest block of each chain: its time, and whether it is too old."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping

from reference.lanes.lane import ChainUnavailable, Lane


def build_newest_block_readers(
    lanes: Mapping[str, Lane],
) -> Mapping[str, Callable[[], Awaitable[tuple[int, int] | None]]]:
    """Return, by network key, a function that reads position and unix seconds of the newest block; None if unknown."""
    return {key: _newest_block_reader(lane) for key, lane in lanes.items()}


def _newest_block_reader(lane: Lane) -> Callable[[], Awaitable[tuple[int, int] | None]]:
    async def newest() -> tuple[int, int] | None:
        try:
            head = await lane.finder.read_head()
        except ChainUnavailable:
            return None
        return None if head.time is None else (head.position, head.time)

    return newest


async def read_newest_time(lane: Lane) -> int | None:
    """Return the time of a lane's newest block in unix seconds, None where its node does not know it.

    Raises:
        ChainUnavailable: It could not be asked for.
    """
    return (await lane.finder.read_head()).time


async def refuse_behind(lane: Lane, seconds: int) -> None:
    """Reject a node's report that something does not exist while its chain is far behind; 0 is never.

    Block times are real time, so they are compared with the machine's clock, which tests do not move.

    Raises:
        ChainUnavailable: The newest block is older than so many seconds, or cannot be asked for.
    """
    if seconds:
        refuse_age(await read_newest_time(lane), seconds)


def refuse_age(newest: int | None, seconds: int) -> None:
    """Reject a node whose newest block, of a time in unix seconds, is older than so many seconds; 0 is never.

    Raises:
        ChainUnavailable: The block is older.
    """
    # Fail closed: a node that lags would report a recent payment as absent, and its payer would be refused (decision
    # 0044).
    if seconds and newest is not None and time.time() - newest > seconds:
        raise ChainUnavailable(f"its newest block is more than {seconds} s old")
