"""A run on Base can be repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.determinism.runs import must_repeat


@pytest.mark.slow
async def test_a_run_on_base_can_be_repeated(tmp_path: Path) -> None:
    """Two runs of one seed with three and with eight workers send the same requests and say the same."""
    await must_repeat(tmp_path, "base")
