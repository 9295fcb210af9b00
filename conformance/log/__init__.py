"""The event log of a run, the single truth that every report is a pure function of, and who may write to it."""
