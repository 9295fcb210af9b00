"""`weldproof pay` as a payer under test: weldproof run PAYER -- python examples/payers/weldproof_pay.py.

The account of the environment becomes the `funder` of a profile that is written for the call.
"""
# ruff: noqa: INP001 - a script for people

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

ENV = {name.removeprefix("WELDPROOF_PAYER_"): value for name, value in os.environ.items()}
LANE, STATE = ENV["LANE"], Path(ENV["STATE_DIR"])
KEYS = {
    "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k": "algorand_mainnet",
    "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe": "algorand_testnet",
    "eip155:8453": "base_mainnet",
    "eip155:84532": "base_sepolia",
    "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": "solana_mainnet",
    "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1": "solana_devnet",
}


def write_account() -> Path:
    """Return a file with the key in the form that a profile takes: on Algorand the words of a mnemonic."""
    given = Path(ENV["ACCOUNT_FILE"])
    if LANE != "algorand":
        return given
    from algosdk.mnemonic import from_private_key  # noqa: PLC0415 - only this lane needs the SDK

    words = STATE / "mnemonic"
    words.touch(mode=0o600)
    words.write_text(from_private_key(given.read_text("ascii").strip()), "ascii")
    return words


def write_profile() -> Path:
    """Return the profile of the call."""
    node = f'algod = "{ENV["NODE"]}"' if LANE == "algorand" else f'rpc = "{ENV["NODE"]}"'
    token = f'token = {{ file = "{ENV["NODE_TOKEN_FILE"]}" }}' if "NODE_TOKEN_FILE" in ENV else ""
    lines = (
        "[claims]",
        f'lanes = ["{LANE}"]',
        f"[chains.{LANE}]",
        f'network = "{KEYS[ENV["NETWORK"]]}"',
        node,
        token,
        f'funder = {{ file = "{write_account()}" }}',
        f'spending_limit = "{ENV["LIMIT"]}"',
    )
    profile = STATE / "weldproof.toml"
    profile.touch(mode=0o600)
    profile.write_text("\n".join(lines) + "\n", "utf-8")
    return profile


os.environ["XDG_DATA_HOME"] = str(STATE)
words = [sys.executable, "-m", "conformance", "pay", ENV["URL"], "--lane", LANE]
if ENV["METHOD"] == "POST":
    words += ["--body", f"@{ENV['BODY_FILE']}", "--receipt", str(STATE / "receipt.jws")]
words += ["--a2a"] if "A2A_URL" in ENV else []
words += ["--config", str(write_profile()), "--max", f"{int(ENV['LIMIT']) / 10**6:f}", "--wait", ENV["SECONDS"]]
words += ["--allow-host", urlsplit(ENV["URL"]).netloc, "--json"]
# A simulated chain may have the chain id of a main network, and then asks for this consent like any other.
words += ["--main-network"]
os.execv(words[0], words)  # noqa: S606 - the payer itself, in place of this process
