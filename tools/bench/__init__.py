"""Figures: our reference beside floors and peers, in one run (`weldproof bench`)."""
