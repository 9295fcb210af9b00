"""The hosted checkout: its page, its actions, and the watcher that sees payments (3.5)."""

from reference.gateway.checkout.service import Checkout

__all__ = ["Checkout"]
