"""The tables of the lanes' nodes in a profile: a module a lane, whose `TABLE` is its model."""
