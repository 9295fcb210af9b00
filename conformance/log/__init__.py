"""The event log of a run, from which every report is computed, and the thread that may write to it."""
