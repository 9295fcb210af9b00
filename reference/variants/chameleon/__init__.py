"""The chameleon: a correct server that takes every point the interface leaves open from a seed."""
