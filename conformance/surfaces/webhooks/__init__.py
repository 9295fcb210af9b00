"""Webhooks from the suite's side: destinations, deliveries, signatures and the receiver under test."""
