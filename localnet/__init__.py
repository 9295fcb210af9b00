"""Start, fund and stop chains and surfaces as child processes."""
