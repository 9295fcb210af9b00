"""Where the simulated Solana and surfpool 1.5.0 differ, and why the simulator keeps to its way.

Each difference was measured; `recorded/solana.json` holds both nodes' answers. "Agave" is the validator whose answers
the simulator gives, because Solana's public nodes run it.
"""

from __future__ import annotations

from tests.differential.comparison import Allowed

ALLOWED_DIFFERENCES = (
    Allowed("introduction", "getVersion.surfnet-version", "Surfpool adds its own version to Agave's members."),
    Allowed(
        "introduction", "airdrop.error.*", "Surfpool has a code and words of its own for an airdrop below the rent."
    ),
    Allowed("payment", "time is *", "surfpool 1.5.0: a transaction's blockTime is 1000 times too small."),
    Allowed(
        "payment", "token balances.*.uiAmountString", "surfpool 1.5.0: zeros at the end stay; Agave cuts them off."
    ),
    Allowed("*", "*returnData*", "Surfpool returns return data of every transaction, even if it is empty."),
    Allowed("payment", "simulated.shape.fee", "Surfpool's simulation leaves the fee null, which Agave returns."),
    Allowed(
        "payment",
        "simulated.shape.loadedAccountsDataSize",
        "Surfpool tells how much data was loaded; the simulator's machine does not say it.",
    ),
    Allowed("refused_transactions", "*.sent.error.data.fee", "As in its simulation, surfpool leaves the fee null."),
    Allowed(
        "versioned_payment",
        "unsupported.*",
        "surfpool 1.5.0 shows a v0 transaction to who did not say that it knows versions; Agave answers -32015.",
    ),
    Allowed(
        "wallet_payment",
        "found by the loaded reference",
        "surfpool 1.5.0 lists a transaction under its static keys alone; Agave lists it under the loaded ones, too.",
    ),
    Allowed(
        "wallet_payment", "fee", "surfpool 1.5.0 takes no priority fee; Agave takes the price of the compute budget."
    ),
    Allowed(
        "refused_tables",
        "*.sent*.error.code",
        "Surfpool answers -32002 for a table that cannot be read; Agave resolves tables while it decodes: -32602.",
    ),
    Allowed("refused_tables", "*.error.message", "Surfpool has words of its own for tables that cannot be read."),
    Allowed("lookups", "bad before.*", "Surfpool finds nothing before a malformed signature; Agave refuses it."),
    Allowed("lookups", "limit *", "Surfpool takes any limit; Agave takes 1 to 1,000."),
    Allowed("lookups", "many statuses.*", "Surfpool takes any number of signatures; Agave takes 256."),
    Allowed(
        "lookups", "processed.*", "surfpool 1.5.0 ignores the commitment that is asked for; Agave refuses this one."
    ),
    Allowed("lookups", "*.error.message", "Words for malformed keys and signatures are each node's own."),
    Allowed("lookups", "*.error.data", "Surfpool puts the parser's words into data; Agave has none."),
    Allowed("account_reads", "bad commitment.*", "Surfpool ignores an unknown commitment; Agave refuses it."),
    Allowed("account_reads", "compressed.*", "The simulator has no zstd; no client of the suite asks for it."),
    Allowed(
        "account_reads",
        "default encoding.*",
        "Surfpool shows any length in base58, which is also the default; Agave refuses more than 128 bytes.",
    ),
    Allowed("account_reads", "token base58.*", "As for the default encoding: Agave refuses more than 128 bytes."),
    Allowed(
        "account_reads", "*.rentEpoch", "Surfpool's accounts were never rent exempt for good; Agave's tell 2^64 - 1."
    ),
    Allowed(
        "account_reads",
        "mint jsonParsed*.freezeAuthority",
        "The mint that localnet plants cannot be frozen; the simulated one can, as the real one.",
    ),
    Allowed("account_reads", "*.error.message", "Words for malformed parameters are each node's own."),
    Allowed("account_reads", "*.error.data", "Surfpool puts the parser's words into data; Agave has none."),
    Allowed(
        "refused_transactions",
        "*.error.message",
        "Surfpool appends the logs and writes errors as its parser does; codes and `err` are compared.",
    ),
    Allowed(
        "refused_transactions",
        "bad signature.*",
        "Surfpool answers -32002 and simulates it; Agave answers -32003 to both.",
    ),
    Allowed("refused_transactions", "replay.sent.error.data*", "surfpool 1.5.0: a replay's error has no data."),
    Allowed("refused_transactions", "one byte more.sent.error.data*", "A replay as well: the byte is ignored by both."),
    Allowed(
        "refused_transactions",
        "*.solana-py.*",
        "Errors without data end solana-py's parser in a panic, which only surfpool makes it do.",
    ),
    Allowed("fees", "bad.error.message", "Words for a malformed message are each node's own."),
    Allowed("fees", "prioritization*", "Surfpool keeps no history of priority fees."),
    Allowed("subscriptions", "bad.error.message", "Words for a malformed signature are each node's own."),
    Allowed("subscriptions", "signature.context.apiVersion", "Surfpool tells its version over the WebSocket as well."),
    Allowed(
        "protocol", "a number.0.code", "Surfpool answers -32700 to JSON that is no call; JSON-RPC 2.0 says -32600."
    ),
    Allowed("protocol", "*method.0.id", "Surfpool forgets the id of a call without a method."),
    Allowed("protocol", "batch.*", "Surfpool refuses batches, which JSON-RPC 2.0 has and Agave answers."),
    Allowed("protocol", "notification.*", "Surfpool answers a call without an id; JSON-RPC 2.0 leaves it unanswered."),
    Allowed(
        "methods", "*", "Staking, inflation, the cluster and its snapshots are not simulated: no payment sees them."
    ),
    *(
        Allowed("control_calls", verb, "A verb that a real node lacks (9.1), or that only the simulator has.")
        for verb in ("advance", "time", "lag", "fault", "release")
    ),
)
