"""`weldproof-federation-validator`: serve the federation validator."""

from __future__ import annotations

import reference.deferred_gc  # noqa: F401 - before all that is imported for it

# isort: split

from reference.addons.federation_validator.credentials_and_tokens import ADDON


def main() -> None:
    """Serve it."""
    ADDON.main()


if __name__ == "__main__":
    main()
