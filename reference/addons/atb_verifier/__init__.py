"""The ATB credential verifier: judges whether a certificate or a passport is valid now (8.2)."""
