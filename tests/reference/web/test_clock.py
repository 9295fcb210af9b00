"""The WP clock: system time plus an offset from a file, forward only (P-CV-08)."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reference.web.clock import WpClock


class System:
    """A system clock that is set by hand."""

    def __init__(self, seconds: float = 1_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def test_without_a_file_it_is_the_system_s_time() -> None:
    """Whole seconds and whole milliseconds are cut, not rounded."""
    clock = WpClock(wall_clock=System(1_000.9996))
    assert (clock.seconds(), clock.now(), clock.now_ms()) == (1_000.9996, 1_000, 1_000_999)


def test_the_file_is_read_at_each_use(tmp_path: Path) -> None:
    """A changed offset counts with the next reading; so does a file that appears later."""
    file, clock = tmp_path / "offset", WpClock(tmp_path / "offset", System())
    readings = [clock.seconds()]
    for text in ("0", "1.5", " 10\n", "+20"):
        file.write_text(text, "ascii")
        readings.append(clock.seconds())
    assert readings == [1_000, 1_000, 1_001.5, 1_010, 1_020]


def test_a_smaller_offset_is_ignored(tmp_path: Path) -> None:
    """Time is not turned back, and the offset that was used stays in use."""
    file, system = tmp_path / "offset", System()
    clock = WpClock(file, system)
    file.write_text("100", "ascii")
    assert clock.now() == 1_100
    file.write_text("50", "ascii")
    system.seconds += 1
    assert clock.now() == 1_101


def test_a_file_that_says_nothing_changes_nothing(tmp_path: Path) -> None:
    """Garbage, an empty file and a file that is gone leave the offset as it was."""
    file = tmp_path / "offset"
    clock = WpClock(file, System())
    file.write_text("100", "ascii")
    readings = [clock.now()]
    for garbage in (b"soon", b"\xff", b"nan", b"inf", b"1e999", b""):
        file.write_bytes(garbage)
        readings.append(clock.now())
    file.unlink()
    readings.append(clock.now())
    assert readings == [1_100] * 8


def test_the_system_s_clock_may_be_set_back() -> None:
    """A reading is never smaller than the one before."""
    system = System()
    clock = WpClock(wall_clock=system)
    clock.now()
    system.seconds -= 500
    assert clock.now() == 1_000


@given(st.lists(st.tuples(st.floats(-1e6, 1e9), st.floats(-1e6, 1e6)), max_size=20))
def test_readings_never_decrease(steps: list[tuple[float, float]]) -> None:
    """Whatever happens to the system's clock."""
    system = System()
    clock = WpClock(wall_clock=system)
    readings = []
    for seconds, _ in steps:
        system.seconds = seconds
        readings.append(clock.seconds())
    assert readings == sorted(readings)
