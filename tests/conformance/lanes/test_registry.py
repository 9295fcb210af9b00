"""What is found of a lane by its line: its facts, its descriptor, and its table in a profile."""

from __future__ import annotations

import subprocess
import sys

from conformance import extras
from conformance.lanes.registry import LANES
from conformance.target import Chains
from conformance.target.chains import TABLES
from conformance.vocabulary.lanes.registry import FACTS


def test_every_lane_has_its_modules() -> None:
    """Whatever is known of a lane is known by its name, in one order, and is that lane's own."""
    names = list(FACTS)
    assert [list(LANES), list(TABLES), list(Chains.model_fields)] == [names] * 3
    assert [one.name for one in LANES.values()] == [one.lane for one in TABLES.values()] == names


def test_a_lane_is_known_without_the_libraries_of_its_chain() -> None:
    """The registry imports nothing that comes with an extra."""
    program = "import sys, conformance.lanes.registry\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {module for lane in FACTS.values() for module in extras.MODULES[lane.extra]} & set(result.stdout.split())
