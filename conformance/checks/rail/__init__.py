"""Checks of the pay rail. Importing this package registers each of them; a lane's checks are in its folder."""

from conformance.engine.check_loading import register_all

register_all(__name__, __path__)
