"""Which lines of the reference decide a requirement: found by its mutants, kept as data beside the ledger."""
