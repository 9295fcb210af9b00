"""The table of docs/installing.md: a line an extra, each within its bound; the wheel's own stage measures them."""

from __future__ import annotations

from conformance import extras
from tests.wheel.installed import BOUNDS, read_documented_sizes


def test_every_extra_has_its_line() -> None:
    """What the table names, and what is measured, is every extra that a user would type, `all`, and none."""
    assert set(read_documented_sizes()) == set(BOUNDS) == {"", "all", *extras.MODULES} - {"checkout"}


def test_what_is_told_is_within_what_is_allowed() -> None:
    """No figure is beyond its bound, and with the base alone is the least of each."""
    documented_sizes = read_documented_sizes()
    for extra, size in documented_sizes.items():
        assert 0 < documented_sizes[""].packages <= size.packages <= BOUNDS[extra].packages
        assert 0 < documented_sizes[""].megabytes <= size.megabytes <= BOUNDS[extra].megabytes
        assert 0 < documented_sizes[""].bare <= size.bare <= BOUNDS[extra].bare
