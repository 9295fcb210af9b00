"""Validators that PyPI has, in an environment of the project's cache under the digest of its pins.

It is made at first use, or ahead of it by `python -m tests.prefetch`; later runs need no network. Nothing of it ever
gets into the project's environment: x402-conformance would load itself into every pytest there.
"""

from __future__ import annotations

from pathlib import Path

from programs import python_packages

_PINS = Path(__file__).parent / "requirements.txt"


def programs_of_validators() -> Path:
    """Return the folder with the programs `x402conf`, `x402-inspect` and `a2a-lint`, getting them at first use.

    Raises:
        Missing: They could not be got; the text says what to do.
    """
    return (
        python_packages.environment("validators", _PINS, description="x402-conformance, x402-inspect and a2a-lint")
        / "bin"
    )
