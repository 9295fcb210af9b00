"""Tables and the few statements that decide races."""
