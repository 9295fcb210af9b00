"""HTTP servers on which a surface can run."""
