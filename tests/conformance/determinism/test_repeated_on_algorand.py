"""A run on Algorand can be repeated, and another seed makes another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import target
from tests.conformance.determinism.runs import must_repeat, outcome
from tests.stack import running_stack


@pytest.mark.slow
async def test_a_run_on_algorand_can_be_repeated(tmp_path: Path) -> None:
    """Two runs of one seed with three and with eight workers send the same requests and say the same."""
    await must_repeat(tmp_path, "algorand")


async def test_another_seed_sends_other_requests(tmp_path: Path) -> None:
    """The seed decides which replays are sent."""
    with running_stack(tmp_path, "--lane", "algorand", "--surface", "rail") as ready:
        profile = target.load(Path(ready["profile"]))
        _, templates = await outcome(profile, 8, seed=7, selection=["RAIL-WELD-08"])
        _, other_templates = await outcome(profile, 8, seed=8, selection=["RAIL-WELD-08"])
    assert other_templates != templates
