"""One rail on its chains for the tests with outside clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import running_stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A running rail on its chains; the ready line."""
    folder: Path = tmp_path_factory.mktemp("outside")
    with running_stack(folder, "--surface", "rail") as ready:
        yield ready
