"""The processor that a record names: two generations under one name are two processors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.bench import process_cpu_time

LINES = "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n\n"


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (2 * LINES, "AMD EPYC (family 26, model 2)"),
        ("processor\t: 0\nBogoMIPS\t: 243.75\n", "unknown"),
        ("model name\t: ARMv8\n", "ARMv8"),
    ],
)
def test_a_processor_is_named_with_family_and_model(tmp_path: Path, lines: str, name: str) -> None:
    """Both are shown if the system tells them."""
    (tmp_path / "cpuinfo").write_text(lines)
    assert process_cpu_time.model(tmp_path) == name


def test_a_system_without_that_file_has_an_unknown_processor(tmp_path: Path) -> None:
    """It is never compared with a record."""
    assert process_cpu_time.model(tmp_path) == "unknown"
