"""Webhooks: takes events from the outbox to their destinations, signed (profile section 4)."""
