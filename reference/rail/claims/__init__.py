"""Claims: from a proof to a served call, once."""
