"""The key of a private network's account, which the key daemon keeps in a wallet without a password."""

from __future__ import annotations

from algosdk import error, mnemonic
from algosdk.kmd import KMDClient

from localnet.lanes.algorand.rest import NotAnswered

_WALLET = "unencrypted-default-wallet"


def first_account_words(url: str, token: str) -> str:
    """Return the mnemonic of the first key in the wallet that a private network has.

    Raises:
        NotAnswered: The daemon did not answer, or has no such wallet.
    """
    client = KMDClient(token, url)
    try:
        wallet = next(known["id"] for known in client.list_wallets() if known["name"] == _WALLET)
        handle = client.init_wallet_handle(wallet, "")
        key = client.export_key(handle, "", client.list_keys(handle)[0])
    except StopIteration:
        raise NotAnswered(f"kmd at {url} has no wallet {_WALLET}") from None
    except (error.KMDHTTPError, OSError, ValueError, LookupError, TypeError) as fault:
        raise NotAnswered(f"kmd at {url}: {type(fault).__name__}: {fault}"[:300]) from fault
    return str(mnemonic.from_private_key(key))
