"""What of the suite comes with an extra of the distribution, and what is said where it is not installed.

Whatever wants a library of an extra imports it when it is used: `import_module` and friends then raise
`ModuleNotFoundError`, which `reason` turns into a line to type. The facts of a lane name the extra that pays on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

# Modules that come with an extra and not without it; a test holds them to pyproject.toml.
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

# What an extra adds, in a few words.
FOR: Final[Mapping[str, str]] = {
    "algorand": "what pays on Algorand, with `checkout`",
    "base": "what pays on Base, with `checkout`",
    "solana": "what pays on Solana, with `checkout`",
    "checkout": "reading a gateway's checkout pages and their QR codes",
    "fuzz": "calls generated from a published OpenAPI document (X-OAS-01)",
    "postgres": "judging a control plane over a PostgreSQL server of yours",
    "reference": "the reference and the simulated chains (`up`, `--reference`, `demo`, `selftest`), and the above",
}


class MissingExtra(ModuleNotFoundError):
    """An extra that is wanted here is not installed; the text is what to type."""

    def __init__(self, extra: str) -> None:
        super().__init__(sentence(extra))


def sentence(extra: str) -> str:
    """Return what is said where an extra is wanted that is not installed."""
    return f'This needs the extra "{extra}": pip install "weldproof[{extra}]"'


def is_installed(extra: str) -> bool:
    """Return whether an extra is there. A name that is no extra's counts as there: nothing has to come for it."""
    return all(find_spec(name) is not None for name in MODULES.get(extra, ()))


def need(extra: str) -> None:
    """Go on only where an extra is there.

    Raises:
        MissingExtra: It is not.
    """
    if not is_installed(extra):
        raise MissingExtra(extra)


def reason(fault: ModuleNotFoundError) -> str | None:
    """Return what to type for a module that was not found, None where it belongs to no extra."""
    if isinstance(fault, MissingExtra):
        return str(fault)
    root = (fault.name or "").partition(".")[0]
    return next((sentence(extra) for extra, modules in MODULES.items() if root in modules), None)
