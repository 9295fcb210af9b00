"""Checks of webhooks whose way of payment is of Base."""
