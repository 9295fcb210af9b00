"""`python -m conformance` is the command `weldproof`."""

from conformance.cli import main

main(prog_name="weldproof")
