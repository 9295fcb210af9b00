"""Variants of the reference: broken in one rule (mutants), or correct and different at open points (chameleon)."""
