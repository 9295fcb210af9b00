"""Whether a real node can come from the npm packages that localnet pins."""

from __future__ import annotations

from localnet import npm
from localnet.lanes.lane import Found
from programs import node, npm_packages


def from_npm(chain: str, program: str) -> Found:
    """Return what a chain's node from npm would run on."""
    if npm.is_installed():
        return Found(chain, ready=True, how=f"{program} in {npm_packages.folder()}")
    with_node = "" if node.find_installed() else ", with Node.js from PyPI"
    return Found(chain, ready=True, how=f"{program} from npm{with_node}, installed at the first start")
