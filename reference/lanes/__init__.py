"""Lanes, one folder each: a lane asks its node and reports what it shows; it gives no verdict."""
