"""Pure functions from the event log to each format."""
