"""The chameleon: a correct server whose values at the open points of the interface are drawn from a seed."""
