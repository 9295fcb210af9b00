"""The payer under test, and the rail that the suite plays for it on a real or simulated chain."""
