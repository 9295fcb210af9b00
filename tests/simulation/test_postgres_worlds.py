"""The same worlds over a real PostgreSQL server: its statements, in its own time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference.postgres_cluster import private_cluster

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.postgres
def test_worlds_hold_over_postgresql() -> None:
    """No rule is broken in two worlds whose workers share a PostgreSQL server, killed as they are."""
    with private_cluster() as server:
        words = ["--operations", "60", "--worlds", "2", "--postgres", server]
        result = subprocess.run(
            [sys.executable, "-m", "tests.simulation", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert result.returncode == 0, result.stdout + result.stderr
