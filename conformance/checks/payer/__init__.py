"""Checks of payers. Importing this package registers each of them."""

from conformance.engine.check_loading import register_all

register_all(__name__, __path__)
