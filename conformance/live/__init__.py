"""A page that follows runs while they go, and what tells that a target is another than before."""
