"""Where the simulated Base and Anvil 1.7.1 differ, and why the simulator keeps to its way.

Each difference was measured; `recorded/base.json` holds both nodes' answers. "geth" is the client whose words the
simulator speaks, because Base's nodes descend from it.
"""

from __future__ import annotations

from tests.differential.comparison import Allowed

ALLOWED_DIFFERENCES = (
    Allowed(
        "introduction",
        "eth_accounts*",
        "Anvil lists accounts that it plays, here the token's minter; public nodes and the simulator have none.",
    ),
    Allowed(
        "*",
        "*blockTimestamp",
        "Anvil adds a block's time to transactions and receipts, where geth has none; services must not need it.",
    ),
    Allowed("*", "*blobGasPrice", "Anvil tells a blob price in every receipt, geth only for transactions with blobs."),
    Allowed("blocks", "*.totalDifficulty", "Anvil still tells it; geth dropped it after the merge."),
    Allowed(
        "blocks", "*.requestsHash", "Anvil runs a later hard fork than the simulator's machine, which is at Cancun."
    ),
    Allowed(
        "*",
        "*error.message",
        "Each client has its own words: the simulator has geth's. The case itself asserts that a contract's reason and"
        " its data are equal.",
    ),
    Allowed(
        "refused_transactions",
        "*.error.code",
        "Anvil answers -32003 and -32602 for transactions that it does not take; geth's code for all is -32000.",
    ),
    Allowed("replacements", "*.error.code", "As for refused transactions: -32003 in Anvil, -32000 in geth."),
    Allowed(
        "refused_calls",
        "*.error.code",
        "Halts are -32603 in Anvil and lack of money or gas -32003; geth has -32000 for all that is no revert.",
    ),
    Allowed(
        "states",
        "*.error.code",
        "A block that is not there is -32602 or -32001 in Anvil, by number and by hash; in geth it is -32000.",
    ),
    Allowed(
        "refused_transactions",
        "high s.*",
        "Anvil takes the twin of a signature, which EIP-2 forbids; real networks refuse it, and so does the simulator.",
    ),
    Allowed(
        "refused_transactions",
        "one byte more.*",
        "Anvil ignores what follows a transaction; geth's decoder refuses it.",
    ),
    Allowed(
        "refused_transactions",
        "unprotected.*",
        "Anvil takes transactions without a chain id; geth's RPC refuses them by default.",
    ),
    Allowed(
        "replacements",
        "underpriced.*",
        "Anvil lets a transaction be replaced by one that pays a single wei more; geth asks for a tenth.",
    ),
    Allowed("refused_calls", "data and input.*", "Anvil lets `input` win over another `data`; geth refuses the pair."),
    Allowed(
        "refused_calls",
        "no wei.eth_estimateGas.*",
        "Anvil estimates a payment that the sender cannot make; geth says that funds are lacking.",
    ),
    Allowed(
        "refused_calls",
        "too little gas.eth_estimateGas.*",
        "Anvil ignores a gas limit that is too small and estimates; geth takes it as the most it may say.",
    ),
    Allowed(
        "methods",
        "*",
        "Traces, proofs, filters that a node keeps and its pool's insides are not offered: no client of a payment uses"
        " them, and a filter would hide what the node was asked.",
    ),
    *(
        Allowed("control_calls", verb, "A verb that a real node lacks (9.1), or that only the simulator has.")
        for verb in ("lag", "fault", "release", "base fee")
    ),
    Allowed("events", "backwards*", "Anvil finds nothing in a range that ends before it begins; geth refuses it."),
    Allowed(
        "events",
        "four*",
        "Anvil lets a filter have more places than an event has topics when they are empty; geth finds nothing.",
    ),
    Allowed(
        "fees",
        "without percentiles*",
        "Anvil returns empty rewards if the call asked for none; geth leaves the member out.",
    ),
    Allowed(
        "protocol",
        "no json.0.code",
        "Anvil answers -32600 to what is no JSON; JSON-RPC 2.0 says -32700, as geth does.",
    ),
)
