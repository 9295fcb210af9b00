"""eth-account, imported so that the interpreter stays as it was.

py_ecc, which eth-account imports, lets the interpreter recurse a hundred times deeper than its stack is made for: a
target's deeply nested JSON would then end the suite instead of being told as no JSON.
"""

from __future__ import annotations

import sys

from eth_account import Account as Signer

sys.setrecursionlimit(min(sys.getrecursionlimit(), 1000))

__all__ = ["Signer"]
