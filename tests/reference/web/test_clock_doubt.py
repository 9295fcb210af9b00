"""A clock that is set while the service runs: small steps are followed, large ones are doubted (decision 0043)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.web.clock import STEADY_SECONDS, WpClock
from reference.web.errors import Refused

START = 1_800_000_000.0
HOURS = 3 * 3600.0


class Machine:
    """A machine's two clocks, which go on together until the wall is set."""

    def __init__(self) -> None:
        self.monotonic = 50.0
        self.set_by = 0.0

    def wall(self) -> float:
        """Return unix seconds."""
        return START + self.monotonic + self.set_by

    def steady(self) -> float:
        """Return monotonic seconds."""
        return self.monotonic

    def clock(self, offset_file: Path | None = None) -> WpClock:
        """Return a service's clock on this machine."""
        return WpClock(offset_file, self.wall, self.steady)

    def true(self) -> float:
        """Return the true time, which does not depend on changes of the wall."""
        return START + self.monotonic


def in_doubt(clock: WpClock) -> bool:
    """Return whether a clock is in doubt now."""
    return clock.doubt is not None


@pytest.mark.parametrize("jump", [HOURS, -HOURS, 3.0, -3.0])
def test_a_jump_is_not_followed(jump: float) -> None:
    """The service's time goes on by the monotonic clock, nothing has lapsed, and what needs the time is refused."""
    machine = Machine()
    clock = machine.clock()
    machine.set_by = jump
    machine.monotonic += 10
    assert clock.seconds() == machine.true()
    assert clock.lapsed_until() == 0
    assert in_doubt(clock)
    with pytest.raises(Refused) as refusal:
        clock.refuse_in_doubt()
    assert (refusal.value.status, refusal.value.code) == (503, "clock_in_doubt")
    assert "10 s passed" in refusal.value.message


@pytest.mark.parametrize("jump", [HOURS, -HOURS])
def test_a_wall_that_comes_back_ends_the_doubt(jump: float) -> None:
    """Three seconds of a wrong clock leave nothing behind."""
    machine = Machine()
    clock = machine.clock()
    machine.set_by = jump
    assert in_doubt(clock)
    machine.set_by, machine.monotonic = 0.0, machine.monotonic + 3
    assert not in_doubt(clock)
    assert clock.seconds() == machine.true()
    assert clock.lapsed_until() == int(machine.true())


@pytest.mark.parametrize("step", [1.9, -1.9])
def test_a_small_step_is_followed_gently(step: float) -> None:
    """A step of NTP's is no doubt; the time runs faster or slower until it is there, and never backwards."""
    machine = Machine()
    clock = machine.clock()
    before = clock.seconds()
    machine.set_by = step
    readings = [before]
    for _ in range(100):
        machine.monotonic += 0.1
        readings.append(clock.seconds())
    assert not in_doubt(clock)
    assert readings == sorted(readings)
    assert readings[1] == pytest.approx(before + 0.1, abs=0.06)
    assert readings[-1] == pytest.approx(machine.true() + step, abs=1e-3)


@pytest.mark.parametrize("jump", [HOURS, -HOURS])
def test_a_wall_that_stays_is_believed_where_nobody_can_confirm_it(jump: float) -> None:
    """A service without chains: a correction after a wrong boot time, forward or backward, counts after a minute."""
    machine = Machine()
    clock = machine.clock()
    machine.set_by = jump
    assert in_doubt(clock)
    machine.monotonic += STEADY_SECONDS - 1
    assert in_doubt(clock)
    machine.monotonic += 1
    assert not in_doubt(clock)
    assert clock.seconds() == machine.true() + jump


def test_a_wall_that_goes_on_jumping_is_not_believed() -> None:
    """Each further jump restarts the minute."""
    machine = Machine()
    clock = machine.clock()
    for jump in range(1, 10):
        machine.set_by = jump * 100.0
        machine.monotonic += STEADY_SECONDS - 1
        assert in_doubt(clock)
    assert clock.seconds() == machine.true()


def test_a_witness_confirms_and_steadiness_alone_does_not() -> None:
    """If there are witnesses of the time, the wall is believed only when they confirm it."""
    machine = Machine()
    clock = machine.clock()
    clock.require_witnesses()
    machine.set_by = HOURS
    assert in_doubt(clock)
    machine.monotonic += 10 * STEADY_SECONDS
    assert in_doubt(clock)
    clock.confirm()
    assert not in_doubt(clock)
    assert clock.seconds() == machine.true() + HOURS


def test_a_questioned_wall_is_not_believed_for_staying_where_it_is() -> None:
    """At a start the wall itself is what is doubted: it need not come back to itself."""
    machine = Machine()
    clock = machine.clock()
    clock.require_witnesses()
    clock.question("no chain confirms it")
    machine.monotonic += 5
    assert in_doubt(clock)
    assert clock.lapsed_until() == 0
    machine.set_by = -HOURS  # corrected
    clock.confirm()
    assert clock.seconds() == machine.true() - HOURS


def test_what_writes_the_time_down_waits_for_a_wall_that_is_believed() -> None:
    """From a start with a doubted wall on there is no time to go on with; after a jump there is."""
    machine = Machine()
    clock = machine.clock()
    clock.require_witnesses()
    clock.refuse_unfounded()
    machine.set_by = HOURS
    assert in_doubt(clock)
    clock.refuse_unfounded()
    clock.confirm()
    clock.question("no chain confirms it")
    with pytest.raises(Refused, match="do not pay again"):
        clock.refuse_unfounded()
    clock.confirm()
    clock.refuse_unfounded()


def test_an_offset_of_a_test_is_no_jump(tmp_path: Path) -> None:
    """A moved offset is wanted, and counts at once, also while the wall is in doubt."""
    file, machine = tmp_path / "offset", Machine()
    clock = machine.clock(file)
    file.write_text("100000", "ascii")
    assert clock.seconds() == machine.true() + 100_000
    assert not in_doubt(clock)
    machine.set_by = HOURS
    file.write_text("200000", "ascii")
    assert clock.seconds() == machine.true() + 200_000


def test_a_suspended_machine_is_no_jump() -> None:
    """The monotonic clock counts the hours of a closed lid."""
    machine = Machine()
    clock = machine.clock()
    machine.monotonic += 8 * 3600
    assert not in_doubt(clock)
    assert clock.seconds() == machine.true()


def test_a_pause_between_two_readings_is_no_jump() -> None:
    """A process that is stopped after it read one clock and before it reads the other reads again."""
    machine = Machine()

    def wall() -> float:
        if machine.set_by == 0:
            machine.set_by, machine.monotonic = 1e-9, machine.monotonic + 100
        return machine.wall()

    clock = WpClock(None, wall, machine.steady)
    assert not in_doubt(clock)
    assert clock.seconds() == pytest.approx(machine.true())


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(-1e5, 1e5)), max_size=30))
def test_the_time_goes_back_only_where_a_doubt_ends(steps: list[tuple[float, float]]) -> None:
    """Whatever is done to the wall."""
    machine = Machine()
    clock = machine.clock()
    before = clock.seconds()
    for elapsed, set_by in steps:
        clock_doubt = in_doubt(clock)
        machine.monotonic += elapsed
        machine.set_by = set_by
        reading = clock.seconds()
        assert reading >= before or (clock_doubt and not in_doubt(clock))
        before = reading
