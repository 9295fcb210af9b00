"""The ATB credential verifier: says what a certificate or a passport is worth now (8.2)."""
