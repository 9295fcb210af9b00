"""Short texts of the interface's open points and contradictions, and reasons why some do not vary."""

from __future__ import annotations

from collections.abc import Mapping

OPEN: Mapping[str, str] = {
    "1": "further request members of payment links, which are required, all network values",
    "2": "members of a resource",
    "3": "members of the service record",
    "4": "claims of the payable receipt beyond the three bindings",
    "5": "the full Base USDC contract address",
    "6": "member names of the agent's request bodies",
    "7": "member names of the agent's results",
    "8": "complete lists of states, and further transitions",
    "9": "what follows the payment-required task state",
    "10": "bodies of both /a2a transports beyond JSON-RPC",
    "11": "the member that carries the receipt at receipt verification",
    "12": "body and response of compliance screening",
    "13": "the path of the gateway's key document",
    "14": "the paths of individual paid operations",
    "15": "key types, prefixes and rotation",
    "16": "the string under the webhook signature, and the service word in its header",
    "17": "whether receipt verification and screening need credentials",
    "18": "other event types, the retry schedule, the delivery timeout",
    "19": "the full list of the gateway's codes and their statuses",
    "20": "the nine typed code names",
    "21": "error bodies of control plane, agent beyond 422, and rail beyond 402",
    "22": "the lifetime of a challenge",
    "23": "payload size limits",
    "24": "rate limits of agent, control plane and rail",
    "25": "success status of creating calls",
    "26": "what happens to a link after expires_at",
    "27": "overpayment, double payment, partial payments",
    "28": "shape of posture, audit entries and health documents",
    "29": "key and algorithm of the audit chain",
    "30": "the address of the agent's OpenAPI document",
    "31": "HEAD, OPTIONS, CORS, compression, HTTP versions",
    "32": "how DENY and REFER show in the HTTP status",
    "33": "how many chains a deployment offers",
}

CONTRADICTIONS: Mapping[str, str] = {
    "C-01": "a version in the gateway's paths",
    "C-02": "the lists of network names",
    "C-03": "x402 version 2 beside names of version 1",
    "C-04": "payment_reference and challenge_token",
    "C-05": "outbound calls of the control plane",
    "C-06": "two or three environment variables",
    "C-07": "200 at the agent, 422 at the gateway",
    "C-08": "malformed or failing signature headers",
    "C-09": "the form of the tenant's limit",
    "C-10": "nine codes, eight vectors",
    "C-11": "the first key when no kid matches",
    "C-12": "the same Idempotency-Key with another body",
    "C-13": "media type of the checkout page",
    "C-14": "micro-units of other currencies",
    "C-15": "how soon a new issuer is known",
    "C-16": "which of two faults wins",
    "C-17": "place of the receipt, recipes of the hashes",
    "C-18": "the state named a2a-x402",
}

# Points without a variant. Each needs a reason: the page of points lists it, and a test compares the numbers.
FIXED_POINTS: Mapping[str, str] = {
    "C-01": "the literal paths are tested; both readings share them",
    "C-05": "the allowed calls are the same in both readings; no other call is allowed",
    "C-06": "the suite gives three variables, with which both readings join",
    "C-15": "how soon is the operator's setting; whatever it is, the suite waits for as long as its profile says",
    "C-07": "both halves are stated; neither is open",
    "C-14": "the suite prices its links in USDC, where the product is exact; other currencies are never asked for",
    "C-16": "shows only where a call has two faults, which no check sends: one fault at a time",
}
