"""A webhook receiver: what arrives, what is answered, and the effect that each event has once."""
