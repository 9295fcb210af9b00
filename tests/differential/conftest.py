"""Nodes that get the same calls, one of each kind for a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.differential import base_nodes, solana_nodes
from tests.differential.base_nodes import BaseNode
from tests.differential.solana_nodes import SolanaNode


@pytest.fixture(scope="module")
def base() -> Iterator[dict[str, BaseNode]]:
    """Return the simulated Base and Anvil, by the names `simulated` and `real`."""
    with ExitStack() as stack:
        yield {
            "simulated": stack.enter_context(base_nodes.run_simulator()),
            "real": stack.enter_context(base_nodes.real()),
        }


@pytest.fixture(scope="module")
def solana() -> Iterator[dict[str, SolanaNode]]:
    """Return the simulated Solana and surfpool, by the names `simulated` and `real`."""
    with ExitStack() as stack:
        yield {
            "simulated": stack.enter_context(solana_nodes.run_simulator()),
            "real": stack.enter_context(solana_nodes.real()),
        }
