"""Programs of other makers' packages, run by environments of their own and imported by nobody."""
