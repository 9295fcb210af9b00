"""Whether calls can be sold now: the lanes' nodes, this rail's own absence, and its terms."""
