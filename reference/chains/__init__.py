"""One lane a file: asks a node and answers with what it saw; gives no verdicts."""
