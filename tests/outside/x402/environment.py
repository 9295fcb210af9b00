"""The environment of PyPI's x402 package with its Solana client, in the project's cache under the digest of its pins.

It is made at first use, or ahead of it by `python -m tests.prefetch`; later runs need no network. The project's own
environment has the package without that client, which wants an older solana-py.
"""

from __future__ import annotations

from pathlib import Path

from programs import python_packages

_PINS = Path(__file__).parent / "python.txt"


def python_of_client() -> Path:
    """Return the environment's interpreter, making it at first use.

    Raises:
        Missing: It could not be made; the text says what to do.
    """
    return python_packages.environment("x402", _PINS, description="the x402 package with Solana") / "bin" / "python"
