"""Driving a surface as its callers do, for checks to stand on; nothing here judges."""
