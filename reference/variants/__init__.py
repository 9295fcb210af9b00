"""The reference made otherwise: broken in one rule (mutants), or right and different where all is open (chameleon)."""
