"""Checks of the control plane: importing this package registers every one of them."""

from conformance.engine.check_loading import register_all

register_all(__name__, __path__)
