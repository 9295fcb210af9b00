"""The open points of the pay rail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.variants.chameleon.points import Choice, Point

_PATHS = {
    "other words": (
        "/pay/v1/receipts/verification",
        "/pay/v1/message-signatures/check",
        "/pay/v1/screening",
    ),
    "opaque": ("/pay/v1/op/7f", "/pay/v1/op/2c", "/pay/v1/op/e0"),
}
_ROLES = ("receipt-verify", "rfc9421-verify", "compliance-receipt")
_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "receipt-verify": {"jws": "e30.e30.AA"},
    "rfc9421-verify": {
        "method": "GET",
        "authority": "example.com",
        "path": "/",
        "headers": {},
        "public_key_hex": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
    },
    "compliance-receipt": {"recipient_address": "screen-allow", "network": "algorand_mainnet"},
}
_OTHER_BODIES = {
    "receipt-verify": [{"jws": "e30.e30.AQ"}],
    "rfc9421-verify": [{**_EXAMPLES["rfc9421-verify"], "path": "/other"}],
    "compliance-receipt": [
        {"recipient_address": name, "network": "base_mainnet"} for name in ("screen-block", "screen-flag")
    ],
}


def _paths(name: str) -> dict[str, str]:
    return dict(zip(_ROLES, _PATHS[name], strict=True))


POINTS = (
    Point(
        # The paths of paid operations are open (14). Catalogs and OpenAPI show them, except that opaque ones do not
        # say which service they are.
        "rail.paths",
        ("14",),
        "paths of the paid operations",
        (
            Choice(
                "verify and compliance",
                may_bind={
                    "rail.services": {
                        "receipt-verify": "/pay/v1/verify/receipt",
                        "rfc9421-verify": "/pay/v1/verify/rfc9421",
                        "compliance-receipt": "/pay/v1/compliance/receipt",
                    }
                },
            ),
            Choice("other words", {"paths": _paths("other words")}, may_bind={"rail.services": _paths("other words")}),
            Choice("opaque", {"paths": _paths("opaque")}, binds={"rail.services": _paths("opaque")}),
        ),
    ),
    Point(
        # C-03. With a word of its own the rail keeps ordinary x402 clients from signing (P-CH-05).
        "rail.scheme",
        ("C-03",),
        "the scheme of the entries",
        (Choice("exact"), Choice("exact-weld", settings={"WP_RAIL_SCHEME": "exact-weld"})),
    ),
    Point(
        # The lifetime is open (22). In the last choice `maxTimeoutSeconds` is shorter than the lifetime, so only a
        # binding shows the latter.
        "rail.lifetime",
        ("22",),
        "lifetime of a challenge",
        (
            Choice("1800 s", may_bind={"rail.challenge_ttl": 1800}),
            Choice("600 s", settings={"WP_CHALLENGE_TTL": "600"}, may_bind={"rail.challenge_ttl": 600}),
            Choice(
                "900 s, while maxTimeoutSeconds is x402's own",
                {"max_timeout": 300},
                {"WP_CHALLENGE_TTL": "900"},
                {"rail.challenge_ttl": 900},
            ),
        ),
    ),
    Point(
        # Prices are the operator's. An odd one shows whether a suite computes amounts or copies them.
        "rail.prices",
        ("RAIL-SVC-05",),
        "prices of the services",
        (
            Choice("0.01, 0.01 and 0.05 USDC"),
            Choice(
                "0.0025, 0.02 and 0.1 USDC",
                settings={"WP_RAIL_PRICES": "receipt-verify=2500,rfc9421-verify=20000,compliance-receipt=100000"},
                binds={"rail.price_receipt_verify": "2500"},
            ),
        ),
    ),
    Point(
        "rail.body-limit",
        ("23",),
        "the largest body that is taken",
        (Choice("65536"), Choice("40000", settings={"WP_BODY_LIMIT": "40000"})),
    ),
    Point(
        # C-03: the interface names maxAmountRequired (x402 version 1), x402 version 2 names amount.
        "rail.amount",
        ("C-03",),
        "whether x402's amount is present in addition to maxAmountRequired",
        (Choice("beside"), Choice("absent", {"amount_member": False})),
    ),
    Point(
        # The interface demands one entry for each lane and no order.
        "rail.accepts-order",
        ("33",),
        "order of the entries",
        (
            Choice("Algorand, Base, Solana"),
            Choice("the other way round", {"accepts_order": "reversed"}),
            Choice("Base first", {"accepts_order": "turned"}),
        ),
    ),
    Point(
        # A deployment may offer more chains than a profile claims (33). A suite must not pay on a lane that it does
        # not know.
        "rail.further-lanes",
        ("33",),
        "lanes that are offered in addition to the three",
        (
            Choice("none"),
            Choice("Tempo", {"further_lanes": ("eip155:4217",)}),
            Choice("Hedera and Voi", {"further_lanes": ("hedera:mainnet", "voi:mainnet")}),
        ),
    ),
    Point(
        "rail.entry-members",
        ("C-03",),
        "members of an entry in addition to those of version 2",
        (Choice("none"), Choice("those of version 1 too", {"entry_members": "v1 too"})),
    ),
    Point(
        # C-03 and C-04: a payer needs the token and the binding of its lane, and nothing else in `extra`.
        "rail.extra-members",
        ("C-03", "C-04"),
        "members of extra in addition to the token and what a payer needs",
        (Choice("all"), Choice("few", {"extra_members": "few"}), Choice("more", {"extra_members": "more"})),
    ),
    Point(
        "rail.solana-reference",
        ("C-04",),
        "member with the Solana reference account",
        (
            Choice("svm_reference_pubkey"),
            Choice("reference", {"solana_reference": "reference"}),
            Choice("referenceAccount", {"solana_reference": "referenceAccount"}),
        ),
    ),
    Point(
        # EIP-55 is a checksum in the letter case. An address in lower case is valid as well.
        "rail.evm-case",
        ("5", "EIP-55"),
        "letter case of EVM addresses in a challenge",
        (Choice("checksummed"), Choice("lower case", {"evm_case": "lower"})),
    ),
    Point(
        "rail.challenge-header",
        ("C-03",),
        "whether the challenge is in PAYMENT-REQUIRED as well",
        (Choice("present"), Choice("absent", {"challenge_header": False})),
    ),
    Point(
        # Codes of a 402 are this suite's default (P-ER-00), so any text or none is a valid reading.
        "rail.challenge-error",
        ("21",),
        "content of error in a 402",
        (
            Choice("a code"),
            Choice("a code in upper case", {"challenge_error": "upper case"}),
            Choice("a sentence", {"challenge_error": "sentence"}),
            Choice("null", {"challenge_error": "null"}),
            Choice("nothing", {"challenge_error": "absent"}),
        ),
    ),
    Point(
        "rail.challenge-members",
        ("C-03",),
        "how much of the optional part of version 2 a challenge has",
        (Choice("all"), Choice("only what it demands", {"challenge_members": "few"})),
    ),
    Point(
        # The form of a token is the rail's own matter (5.4): only the rail can check it.
        "rail.token-form",
        ("C-04",),
        "form of the challenge token",
        (
            Choice("time, nonce and mac"),
            Choice("opaque", {"token_form": "opaque"}),
            Choice("a compact JWS", {"token_form": "jws"}),
        ),
    ),
    Point(
        # The interface wants a catalog's address to answer 402 unpaid. For a method that is not POST, RFC 9110
        # suggests 405.
        "rail.wrong-method",
        ("31", "14"),
        "the answer to another method than POST on a paid operation",
        (Choice("402"), Choice("405", {"wrong_method": "405"})),
    ),
    Point(
        # RFC 9110, 15.1: 402 is not heuristically cacheable, so no directive is needed.
        "rail.cache",
        ("31",),
        "how a 402 says that it is not to be kept",
        (
            Choice("no-store"),
            Choice("private, max-age=0", {"cache_control": "private, max-age=0, must-revalidate"}),
            Choice("nothing", {"cache_control": None}),
        ),
    ),
    Point(
        # The interface demands a refusal with a fresh challenge, and lets 409 and 503 pass as well (5.7).
        "rail.spent-status",
        ("21",),
        "status for a payment that already bought something",
        (Choice("409"), Choice("402", {"spent_status": 402})),
    ),
    Point(
        "rail.chain-down-status",
        ("21",),
        "status while the chain cannot be asked",
        (Choice("503"), Choice("402", {"chain_down_status": 402})),
    ),
    Point(
        # The interface forbids a second execution. Giving the stored answer and refusing both keep that (P-ST-04).
        "rail.replay",
        ("21",),
        "the identical request with a spent payment",
        (Choice("the stored answer"), Choice("refused", {"replay": "refused"})),
    ),
    Point(
        # What happens to more than the price is open (27).
        "rail.overpayment",
        ("27",),
        "more than the price on a mined lane",
        (Choice("served"), Choice("refused", {"overpayment": "refused"})),
        lane="solana",
    ),
    Point(
        # Bodies beyond 402 are open (21). RFC 9457 defines problem details.
        "rail.errors",
        ("21",),
        "shape of error bodies beyond 402",
        (
            Choice("error and message"),
            Choice("problem details", {"rail_errors": "problem"}),
            Choice("an object in error", {"rail_errors": "nested"}),
            Choice("detail", {"rail_errors": "detail"}),
        ),
    ),
    Point(
        # C-17: a signed receipt is demanded and its place is open. Five places, of which the suite must find each.
        "rail.receipt-place",
        ("C-17",),
        "the place of the payable receipt",
        (
            Choice("member payable_receipt", may_bind={"rail.receipt_at": "body:payable_receipt"}),
            Choice(
                "member proof.receipt",
                {"receipt_at": "body:proof.receipt"},
                may_bind={"rail.receipt_at": "body:proof.receipt"},
            ),
            Choice("in a list", {"receipt_at": "body:receipts[0]"}, may_bind={"rail.receipt_at": "body:receipts[0]"}),
            Choice(
                "header X-Payable-Receipt",
                {"receipt_at": "header:X-Payable-Receipt"},
                may_bind={"rail.receipt_at": "header:X-Payable-Receipt"},
            ),
            Choice(
                "inside PAYMENT-RESPONSE",
                {"receipt_at": "header:PAYMENT-RESPONSE:receipt"},
                may_bind={"rail.receipt_at": "header:PAYMENT-RESPONSE:receipt"},
            ),
        ),
    ),
    Point(
        "rail.result-place",
        ("32", "C-17"),
        "the place of the service's result",
        (
            Choice("member result"),
            Choice(
                "member data.outcome", {"result_at": "body:data.outcome"}, binds={"rail.result_at": "body:data.outcome"}
            ),
            Choice("the whole body", {"result_at": "body:"}, binds={"rail.result_at": "body:"}),
        ),
    ),
    Point(
        "rail.answer-members",
        ("4",),
        "members of a paid answer in addition to result and receipt",
        (Choice("all"), Choice("few", {"answer_members": "few"}), Choice("more", {"answer_members": "more"})),
    ),
    Point(
        # C-17: the recipes of the three hashes are open. A recipe must hold for every request (decision 0078).
        "rail.request-hash",
        ("4", "C-17"),
        "recipe of the request's hash",
        tuple(
            Choice(name, {"request_hash": name}, may_bind={"rail.request_hash": name})
            for name in ("jcs-envelope", "jcs-envelope-plain", "jcs-body", "line-jcs-body", "raw-body", "line-raw-body")
        ),
    ),
    Point(
        "rail.response-hash",
        ("4", "C-17"),
        "recipe of the response's hash",
        tuple(
            Choice(name, {"response_hash": name}, may_bind={"rail.response_hash": name})
            for name in ("jcs-result", "raw-body", "jcs-body", "jcs-body-without-receipt")
        ),
    ),
    Point(
        # C-17. Raw forms are values as well: the interface demands a reference and not a hash.
        "rail.settled-ref",
        ("4", "C-17"),
        "recipe of the settled payment's reference",
        tuple(
            Choice(name, {"settled_ref": name}, may_bind={"rail.settled_payment_ref": name})
            for name in ("payable-core", "raw-tx", "sha256-tx", "sha256-token", "sha256-network-tx", "raw-token")
        ),
    ),
    Point(
        # Hex, base64url and the form of Subresource Integrity are usual notations of one digest.
        "rail.hash-form",
        ("4", "C-17"),
        "how a digest is written",
        tuple(Choice(name, {"hash_form": name}) for name in ("sha256:hex", "hex", "base64url", "sri", "sha512")),
    ),
    Point(
        # The interface demands three bindings and leaves all other claims open (4). Other names hide them, so the
        # receipt's place is bound then.
        "rail.claims",
        ("4",),
        "claims of the payable receipt beyond the three bindings",
        (
            Choice("all"),
            Choice("few", {"claims": "few"}),
            Choice("more", {"claims": "more"}),
            Choice("the bindings in objects", {"claims": "nested"}),
            Choice("other names", {"claims": "renamed"}, binds={"rail.receipt_at": lambda shape: shape.receipt_at}),
        ),
    ),
    Point(
        "rail.verdict-claim",
        ("12", "32"),
        "claim that carries the verdict in a compliance receipt of the rail",
        (
            Choice("screen_result"),
            Choice("verdict", {"verdict_claim": "verdict"}),
            Choice("decision", {"verdict_claim": "decision"}),
        ),
    ),
    Point(
        "rail.payment-response",
        ("C-03",),
        "header with the settlement",
        (
            Choice("PAYMENT-RESPONSE"),
            Choice("X-PAYMENT-RESPONSE", {"payment_response": "X-PAYMENT-RESPONSE"}),
            Choice("none", {"payment_response": None}),
        ),
    ),
    Point(
        # Both catalogs must answer 200 and should list the same operations (5.10). Their shape is open (14).
        "rail.catalog",
        ("14",),
        "shape of /.well-known/x402",
        (
            Choice("addresses"),
            Choice("objects with url", {"catalog": "objects"}),
            Choice("objects with resource", {"catalog": "resource objects"}),
            Choice("by name", {"catalog": "by name"}),
        ),
    ),
    Point(
        "rail.listing",
        ("14",),
        "shape of /discovery/resources",
        (
            Choice("items"),
            Choice("resources with url", {"listing": "resources"}),
            Choice("items that are addresses", {"listing": "addresses"}),
            Choice("nested", {"listing": "nested"}),
        ),
    ),
    Point(
        "rail.index",
        ("14",),
        "shape of /pay/v1/index",
        (
            Choice("services with url"),
            Choice("services with path", {"index": "paths"}),
            Choice("services by name", {"index": "by name"}),
            Choice("no services", {"index": "bare"}),
        ),
    ),
    Point(
        # OpenAPI 3.1: `example` and `examples` exclude each other, and both are optional. Without one the suite
        # needs bodies from the profile.
        "rail.openapi",
        ("14",),
        "how the contract shows a request body",
        (
            Choice("an example", may_bind={"rail.other_bodies": _OTHER_BODIES}),
            Choice("named examples", {"openapi": "named examples"}, may_bind={"rail.other_bodies": _OTHER_BODIES}),
            Choice(
                "none",
                {"openapi": "no examples"},
                binds={
                    "rail.bodies": _EXAMPLES,
                    "rail.other_bodies": _OTHER_BODIES,
                    "rail.services": lambda shape: dict(shape.paths),
                },
            ),
        ),
    ),
    Point(
        "rail.servers",
        ("14", "OpenAPI"),
        "servers of the contract's paid paths",
        (
            Choice("the document's, without a path"),
            Choice("their path item's, with the prefix", {"servers": "item"}),
            Choice("their operation's, by a variable", {"servers": "operation"}),
        ),
    ),
    Point(
        # The interface demands that the extension is present and says nothing about its content.
        "rail.price-info",
        ("14",),
        "shape of x-payment-info",
        (Choice("price and offers"), Choice("flat", {"price_info": "flat"}), Choice("a text", {"price_info": "text"})),
    ),
)
