"""A payer of `examples/payers` whose libraries are imported before it is forked: most of its time was their import.

Each run is still a separate process with its own session, environment and files, and a child of the suite. Its
arguments are those of the process that it was forked from, so that the rows about secrets are judged without a fork.
"""
