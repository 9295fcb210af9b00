"""`python -m tests.outside.judging` is the command `weldproof`."""

from conformance.cli import main

if __name__ == "__main__":
    main(prog_name="weldproof")
