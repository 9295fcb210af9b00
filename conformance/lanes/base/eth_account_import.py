"""Import of eth-account that keeps the interpreter's recursion limit."""

from __future__ import annotations

import sys

from eth_account import Account as Signer

# py_ecc, which eth-account imports, raises the limit a hundredfold, beyond the size of the stack. A target's deeply
# nested JSON would then crash the suite, instead of being reported as not JSON.
sys.setrecursionlimit(min(sys.getrecursionlimit(), 1000))

__all__ = ["Signer"]
