"""Optional dependencies: the modules of each extra of the distribution, and the message if one is not installed.

Code that needs a library of an extra imports it at its first use. `reason` turns the `ModuleNotFoundError` into the
command that installs the extra. The facts of a lane name the extra that its payments need.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

# Modules that only an extra installs; a test compares them with pyproject.toml.
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "algorand": ("algosdk",),
    "base": ("eth_account", "eth_utils", "hexbytes", "web3"),
    "solana": ("solana", "solders", "spl"),
    "checkout": ("PIL", "selectolax", "zxingcpp"),
    "fuzz": ("hypothesis", "requests", "schemathesis"),
    "postgres": ("psycopg",),
    "reference": (
        "aiosqlite",
        "Crypto",
        "eth_abi",
        "http_sf",
        "httptools",
        "hypercorn",
        "nacl",
        "pqcrypto",
        "prometheus_client",
        "pybase64",
        "pydantic_settings",
        "pyrevm",
        "quart",
        "rfc8785",
        "rlp",
        "segno",
        "sha3",
        "sqlalchemy",
        "structlog",
        "uvicorn",
        "uvloop",
        "werkzeug",
    ),
}

# The purpose of each extra, in a few words.
FOR: Final[Mapping[str, str]] = {
    "algorand": "payments on Algorand, with `checkout`",
    "base": "payments on Base, with `checkout`",
    "solana": "payments on Solana, with `checkout`",
    "checkout": "reading a gateway's checkout pages and their QR codes",
    "fuzz": "calls generated from a published OpenAPI document (X-OAS-01)",
    "postgres": "tests of a control plane on your PostgreSQL server",
    "reference": "the reference and the simulated chains (`up`, `--reference`, `demo`, `selftest`), and the above",
}


class MissingExtra(ModuleNotFoundError):
    """An extra is required and not installed; the text contains the command that installs it."""

    def __init__(self, extra: str) -> None:
        super().__init__(sentence(extra))


def sentence(extra: str) -> str:
    """Return the message for an extra that is not installed."""
    return f'This needs the extra "{extra}": pip install "weldproof[{extra}]"'


def is_installed(extra: str) -> bool:
    """Return whether an extra is installed; also true for a name that is not an extra, which needs nothing."""
    # `find_spec` looks for the modules without importing them: some take a second.
    return all(find_spec(name) is not None for name in MODULES.get(extra, ()))


def need(extra: str) -> None:
    """Require an extra.

    Raises:
        MissingExtra: The extra is not installed.
    """
    if not is_installed(extra):
        raise MissingExtra(extra)


def reason(fault: ModuleNotFoundError) -> str | None:
    """Return the message for a module that was not found; None if it belongs to no extra."""
    if isinstance(fault, MissingExtra):
        return str(fault)
    root = (fault.name or "").partition(".")[0]
    return next((sentence(extra) for extra, modules in MODULES.items() if root in modules), None)
