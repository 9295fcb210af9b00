"""Get ahead of time what tests install at first use, two things at a time: `python -m tests.prefetch [programs]`.

Everything is stored in the project's cache; what is already there takes no time. So no test waits for a registry.
Programs of the machine are listed with their versions; missing ones are also downloaded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from localnet import npm
from programs.chromium import chromium
from programs.found import Program
from programs.nginx import nginx
from programs.node import node
from programs.postgres import postgres
from programs.valkey import valkey
from tests.outside.a2a.environments import LINES, python_of
from tests.outside.validators.environment import programs_of_validators
from tests.outside.x402.environment import python_of_client
from tests.sim.algorand.differential.oracle import environment

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "localnet",
    "sim/base/contracts",
    "examples",
    "examples/payers",
    "examples/starter/typescript",
    "examples/verifiers",
    "tests/localnet/compose",
    "tests/differential/circle",
    "tests/outside/agentcash",
    "tests/outside/falcon",
    "tests/outside/har",
    "tests/outside/x402",
    "tests/sim/solana/js",
)
# A registry may fail once; an incomplete download is started again.
TRIES = 3
# Node.js first: what comes from npm needs it.
PROGRAMS: Mapping[str, Callable[[], Program]] = {
    "Node.js": node,
    "PostgreSQL": postgres,
    "Chromium": chromium,
    "nginx": nginx,
    "Valkey": valkey,
}
NAMED_THINGS: Mapping[str, Callable[[], object]] = {
    **{f"the A2A SDK, line {line}": partial(python_of, line) for line in LINES},
    "x402-conformance, x402-inspect and a2a-lint": programs_of_validators,
    "the x402 package's Solana client": python_of_client,
    "the go-algorand evaluator": environment,
    **{f"npm packages of {package}": partial(npm.node_modules, ROOT / package) for package in PACKAGES},
}


def main() -> int:
    """Get everything, or the programs alone; return 0, or 1 when something could not be got."""
    return max(_fetch_all(PROGRAMS), 0 if sys.argv[1:] == ["programs"] else _fetch_all(NAMED_THINGS))


def _fetch_all(names: Iterable[str]) -> int:
    with ThreadPoolExecutor(2) as pool:
        return max(pool.map(_fetch, names))


def _fetch(name: str) -> int:
    start = time.monotonic()
    for _ in range(TRIES):
        try:
            program_found = {**PROGRAMS, **NAMED_THINGS}[name]()
        except Exception as fault:  # noqa: BLE001 - the others are still to be downloaded; each failure is printed
            print(f"{name}: {fault}", file=sys.stderr, flush=True)  # noqa: T201 - a program
        else:
            description = program_found.description if isinstance(program_found, Program) else "there"
            print(f"{name}: {description}; {time.monotonic() - start:.0f} s", flush=True)  # noqa: T201 - a program
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
