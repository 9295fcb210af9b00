"""Reports: pure functions from the event log of a run to each format."""
