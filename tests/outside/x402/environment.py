"""The x402 validators that PyPI has, in the project's cache under the digest of their pins.

They are got at first use, or ahead of it by `python -m tests.prefetch`; later runs need no network. Nothing of them
ever gets into the project's environment: x402-conformance would load itself into every pytest there.
"""

from __future__ import annotations

from pathlib import Path

from programs import python_packages

PINS = Path(__file__).parent / "requirements.txt"


def programs_of_validators() -> Path:
    """Return the folder with the programs `x402conf` and `x402-inspect`, getting them at first use.

    Raises:
        Missing: They could not be got; the text says what to do.
    """
    return python_packages.environment("x402", PINS, what="x402-conformance and x402-inspect") / "bin"
