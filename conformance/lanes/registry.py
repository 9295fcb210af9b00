"""Registry of the lanes on which the suite pays, each with the `DESCRIPTOR` of its folder."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from conformance.lanes.descriptor import Descriptor
from conformance.vocabulary.lanes.registry import FACTS

LANES: Final[Mapping[str, Descriptor]] = {
    lane: import_module(f"conformance.lanes.{lane}.descriptor").DESCRIPTOR for lane in FACTS
}
