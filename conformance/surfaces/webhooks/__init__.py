"""Webhooks from the suite's side: where deliveries arrive, and what is told of them."""
