"""What the reference costs, in process: each job beside the least it could cost (`python -m tools.bench.reference`)."""
