"""The node's HTTP side."""

from __future__ import annotations

from functools import partial

from quart import Quart

from sim.base import control
from sim.base.chain import Chain
from sim.base.rpc import Rpc
from sim.node_app import new_node_app


def build_app(chain: Chain) -> Quart:
    """Return the app over one chain."""
    return new_node_app(Rpc(chain).call, partial(control.carry_out, chain), partial(control.describe, chain))
