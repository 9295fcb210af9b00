"""Judgements of deliveries that several checks of webhooks share."""
