"""Shared parts of the pages of checkout and dashboard: templates, static files, and texts of networks and amounts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from reference.protocol.money import MICRO_DIGITS, amount_pretty
from reference.protocol.networks import Network

ICON = "icon.svg"
_MEDIA = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_MAINNET = "Mainnet"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file that a page loads."""

    data: bytes
    media: str
    version: str


@cache
def asset(package: str, name: str) -> Asset:
    """Return a file of a package's folder `static`. A style sheet begins with the colours that all pages share."""
    data, suffix = _static(package, name), name.rpartition(".")[2]
    if suffix == "css":
        # One request instead of two: the colours are put in front of each style sheet.
        data = _static(__package__, "colours.css") + data
    # The version is part of the address of a file. So it may be cached for a day, and a new release is loaded at once.
    return Asset(data, _MEDIA[suffix], hashlib.sha256(data).hexdigest()[:12])


def icon() -> Asset:
    """Return the icon of every page."""
    return asset(__package__, ICON)


def environment(package: str) -> Environment:
    """Return the template environment of a package. Values are escaped, and a missing value is a fault."""
    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def network_name(network: Network) -> str:
    """Return a network's name for people."""
    name = " ".join(part.capitalize() for part in network.key.split("_"))
    return name.removesuffix(f" {_MAINNET}")


def atomic_pretty(value: int, network: Network) -> str:
    """Return atomic units of a network's asset as people write them, to the last digit."""
    whole, fraction = divmod(value, 10**network.decimals)
    digits = f"{fraction:0{network.decimals}d}".rstrip("0").ljust(2, "0") if network.decimals else "00"
    micro, sub_micro = divmod(value, 10 ** (network.decimals - MICRO_DIGITS))
    return f"{whole}.{digits} {network.asset_label}" if sub_micro else amount_pretty(micro, network.asset_label)


def _static(package: str, name: str) -> bytes:
    return files(package).joinpath("static", name).read_bytes()
