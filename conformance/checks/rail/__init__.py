"""Checks of the pay rail: importing this package registers every one of them; a lane's own stand in its folder."""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
