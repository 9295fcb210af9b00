"""Webhooks: delivers events from the outbox to their destinations, signed (specification 4)."""
