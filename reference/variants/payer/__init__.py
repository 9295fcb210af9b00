"""A small payer of paid calls, as a client's author writes one, for mutants of payers.

The payer that the suite tests is the client's program, and no service of the reference is one. This one makes one
call, or pays one checkout link, and ends. What to pay for comes in environment variables that begin with
`WELDPROOF_PAYER_` and in the files that they name (10.1). The answer goes to standard output. Exit codes: 0 served, 1
refused and nothing paid, 5 paid (or perhaps paid) and no answer yet, 6 paid and nothing more to be had by presenting
the proof again.
"""
