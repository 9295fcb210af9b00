"""Checks of rules that hold for all surfaces. Importing this package registers each of them."""

from conformance.engine.check_loading import register_all

register_all(__name__, __path__)
