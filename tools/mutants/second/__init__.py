"""Mutants of the two servers of `examples/second`: the requirements that an entry names must notice it as recorded."""
