"""The pay rail: a 402 challenge, a welded payment, a service, a signed receipt."""
