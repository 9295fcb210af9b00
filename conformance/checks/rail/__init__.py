"""Checks of the pay rail: importing this package registers every one of them; a lane's own stand in its folder."""

from conformance.engine.check_loading import register_all

register_all(__name__, __path__)
