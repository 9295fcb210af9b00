"""Small faults put by hand into the servers of `examples/second`, and which rows of the suite find each.

`python -m tools.breaches agent|rail [BREACH…]` puts each breach of a server's `breaches.toml` into a copy of its
source, starts the copy, runs the rows that the breach names, and keeps their verdicts in `found.json` and `breaches.md`
next to it. `python -m tools.breaches --pages` writes the pages again from the kept verdicts.
"""
