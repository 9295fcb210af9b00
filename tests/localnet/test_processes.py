"""Child processes end with everything that they started, and no stranger is taken for one of them."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from localnet.processes import Child, ChildFault
from localnet.state import Process

# Starts a program in the background, tells its number, and goes on for ever.
_WITH_A_CHILD = 'sleep 600 & echo "{\\"background\\": $!}"; wait'


async def test_what_a_child_started_ends_with_it(tmp_path: Path) -> None:
    """A program in its background, which no signal to the child itself would reach."""
    child = await Child.start_program("it", ["sh", "-c", _WITH_A_CHILD], log=tmp_path / "it.log")
    ready = await child.ready_line()
    background = Process.of(int(str(ready["background"])))
    assert background.runs
    await child.stop()
    assert not child.is_running
    assert await asyncio.to_thread(background.gone_within, 60)


async def test_a_child_that_is_not_ready_is_told_with_its_last_words(tmp_path: Path) -> None:
    """A child that ends before its ready line, and a child with a malformed ready line."""
    for words, last_words in (("echo no such thing >&2", "no such thing"), ("echo 7", "7")):
        child = await Child.start_program("it", ["sh", "-c", words], log=tmp_path / "it.log")
        with pytest.raises(ChildFault, match=last_words):
            await child.ready_line()
        await child.stop()


def test_a_later_process_of_the_same_number_is_another_one() -> None:
    """The noted process had another start time, so it is gone; the new process of that number is not killed."""
    own_process = Process.of(os.getpid())
    earlier = replace(own_process, started=own_process.started - 1)
    assert own_process.runs
    assert not earlier.runs
    assert earlier.gone_within(0)
    earlier.kill_group()
