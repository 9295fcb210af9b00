"""What a program must not import before it serves: an import that its surface never uses costs each of its starts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache

import pytest

_PAINTING_MODULES = ("rich", "pygments")
_POSTGRES = ("psycopg", "sqlalchemy.dialects.postgresql", "sqlalchemy.ext.asyncio", "sqlalchemy.orm")
_CHAINS = ("web3", "eth_account", "eth_abi", "algosdk", "solana", "spl", "aiohttp")
_TESTING = ("schemathesis", "hypothesis", "jsonschema_rs", "openapi_spec_validator", "pytest")
_EVERY = (*_PAINTING_MODULES, *_TESTING, "web3")

NOT_AT_START: Mapping[str, Sequence[str]] = {
    "reference.control_plane.__main__": (*_EVERY, *_POSTGRES, *_CHAINS),
    "reference.addons.federation_validator.__main__": (*_EVERY, *_CHAINS, "sqlalchemy"),
    "reference.addons.zkp_receipt.__main__": (*_EVERY, *_CHAINS, "sqlalchemy"),
    "reference.addons.atb_verifier.__main__": (*_EVERY, *_CHAINS, "sqlalchemy"),
    "reference.agent.__main__": (*_EVERY, *_CHAINS, "sqlalchemy"),
    "reference.gateway.__main__": (*_EVERY, *_POSTGRES, "eth_account", "solana", "spl"),
    "reference.rail.__main__": (*_EVERY, *_POSTGRES, "solana", "spl"),
    "sim.algorand.__main__": (*_EVERY, "sqlalchemy", "algosdk", "solders", "eth_utils"),
    "sim.base.__main__": (*_EVERY, "sqlalchemy", "algosdk", "solders", "eth_account"),
    "sim.solana.__main__": (*_EVERY, "sqlalchemy", "algosdk", "eth_account", "eth_utils"),
    "localnet.serving": (*_EVERY, "sqlalchemy", "quart", "eth_account", "solana", "spl"),
}


@cache
def after_importing(*modules: str) -> tuple[int, set[str]]:
    """Return how often a process that imported these looked for garbage, and what it had imported then."""
    count_code = "count = sum(one['collections'] for one in gc.get_stats())"
    print_code = "import json, sys; print(json.dumps([count, [one for one in sys.modules if sys.modules[one]]]))"
    code = f"import {', '.join(('gc', *modules))}; {count_code}; {print_code}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, imported_modules = json.loads(result.stdout)
    return count, set(imported_modules)


@pytest.mark.parametrize("program", NOT_AT_START)
def test_a_program_imports_nothing_that_its_surface_does_not_use(program: str) -> None:
    _, imported_modules = after_importing(program)

    assert imported_modules & set(NOT_AT_START[program]) == set()


@pytest.mark.parametrize("program", [one for one in NOT_AT_START if not one.startswith("localnet")])
def test_what_a_program_imports_is_not_looked_at_for_garbage(program: str) -> None:
    after, _ = after_importing(program)
    before, _ = after_importing()

    # The package of the program and that of its starting alone are imported before.
    assert after - before <= 3
