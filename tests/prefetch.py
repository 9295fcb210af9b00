"""Get ahead of time what tests install at first use, two things at a time: `python -m tests.prefetch`.

Everything goes into the user's cache; what is there already takes no time. So no test waits for a registry.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from localnet import npm
from tests.outside.a2a.environments import LINES, python_of
from tests.sim.algorand.differential.oracle import environment

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "localnet",
    "sim/base/contracts",
    "examples",
    "examples/verifiers",
    "tests/localnet/compose",
    "tests/differential/circle",
    "tests/outside/falcon",
    "tests/sim/solana/js",
)
# A registry may be out of breath once; what was got halfway is begun anew.
TRIES = 3
THINGS: Mapping[str, Callable[[], object]] = {
    **{f"the A2A SDK, line {line}": partial(python_of, line) for line in LINES},
    "the go-algorand evaluator": environment,
    **{f"npm packages of {package}": partial(npm.node_modules, ROOT / package) for package in PACKAGES},
}


def main() -> int:
    """Get everything; return 0, or 1 when something could not be got."""
    with ThreadPoolExecutor(2) as pool:
        return max(pool.map(_got, THINGS))


def _got(name: str) -> int:
    started = time.monotonic()
    for _ in range(TRIES):
        try:
            THINGS[name]()
        except Exception as fault:  # noqa: BLE001 - the others are still to be got; each that fails is told
            print(f"{name}: {fault}", file=sys.stderr, flush=True)  # noqa: T201 - a program
        else:
            print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)  # noqa: T201 - a program
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
