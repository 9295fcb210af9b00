"""`weldproof-zkp-receipt`: serve the ZK receipt addon."""

from __future__ import annotations

from reference.addons.zkp_receipt.receipts import ADDON


def main() -> None:
    """Serve it."""
    ADDON.main()


if __name__ == "__main__":
    main()
