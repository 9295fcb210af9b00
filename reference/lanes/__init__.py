"""A folder a lane: each asks its node and answers with what it saw; none gives a verdict."""
