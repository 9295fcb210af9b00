"""Deliberately broken variants of the reference, each one small named switch on a seam."""
