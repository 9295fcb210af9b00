"""What PyPI has of x402, in environments of the project's cache under the digests of their pins.

They are made at first use, or ahead of it by `python -m tests.prefetch`; later runs need no network. Nothing of them
ever gets into the project's environment: x402-conformance would load itself into every pytest there, and the Solana
client of the `x402` package wants an older solana-py.
"""

from __future__ import annotations

from pathlib import Path

from programs import python_packages

_HERE = Path(__file__).parent


def programs_of_validators() -> Path:
    """Return the folder with the programs `x402conf` and `x402-inspect`, getting them at first use.

    Raises:
        Missing: They could not be got; the text says what to do.
    """
    pins = _HERE / "validators.txt"
    return python_packages.environment("x402", pins, what="x402-conformance and x402-inspect") / "bin"


def python_of_client() -> Path:
    """Return the interpreter of an environment with the x402 package and its Solana client, making it at first use.

    Raises:
        Missing: It could not be made; the text says what to do.
    """
    pins = _HERE / "python.txt"
    return python_packages.environment("x402", pins, what="the x402 package with Solana") / "bin" / "python"
