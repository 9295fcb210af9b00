"""Each place where a check judges, negated: the clean reference must turn red."""
