"""What runs checks: which of them, in what order and company, and what their judgements make of each row."""
