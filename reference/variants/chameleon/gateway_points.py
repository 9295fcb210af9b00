"""The open points of the gateway."""

from __future__ import annotations

from reference.variants.chameleon.gateway_calls import CODES, OWN_NETWORKS, label_of, receipt_code
from reference.variants.chameleon.gateway_page import SELECTORS
from reference.variants.chameleon.points import Choice, Point
from reference.variants.chameleon.variant_shape import Shape

_NETWORKS = (
    *("algorand_mainnet", "algorand_testnet", "base_mainnet"),
    *("base_sepolia", "solana_mainnet", "solana_devnet"),
)


def _screening_body(address: str, network: str, form: str) -> dict[str, object]:
    if form == "renamed":
        return {"address": address, "chain": network}
    if form == "nested":
        return {"subject": {"account": address, "network": network}}
    return {"recipient_address": address, "network": network}


def _screens(form: str) -> dict[str, object]:
    return {
        "gateway.screen_body": _screening_body("screen-allow", "algorand_testnet", form),
        "gateway.screen_fixtures": {
            "ALLOW": _screening_body("screen-allow", "algorand_testnet", form),
            "REFER": _screening_body("screen-flag", "base_sepolia", form),
            "DENY": _screening_body("screen-block", "solana_devnet", form),
        },
    }


def _selectors(shape: Shape) -> dict[str, str]:
    return SELECTORS[shape.page]


POINTS = (
    Point(
        # RFC 9110, 15.3: 200, 201 and 202 are all a success.
        "gateway.create-status",
        ("25",),
        "success status of creating calls",
        (
            Choice("201", may_bind={"gateway.create_status": [201]}),
            Choice("200", {"create_status": 200}, may_bind={"gateway.create_status": [200]}),
            Choice("202", {"create_status": 202}, may_bind={"gateway.create_status": [202]}),
        ),
    ),
    Point(
        # Codes and statuses beyond the stated ones are open (19).
        "gateway.credential-status",
        ("19",),
        "status of a credential that is not accepted",
        (
            Choice("401, and 403 for another tenant's id"),
            Choice("401 for both", {"credential_status": "one for both"}),
            Choice("403 for both", {"credential_status": "403 for both"}),
        ),
    ),
    Point(
        # The interface says that an error is identified by a text in `error`. The full list of codes is open (19).
        "gateway.error-codes",
        ("19",),
        "names of the error codes",
        (
            Choice("snake_case"),
            Choice("UPPER_CASE", {"error_codes": "upper"}),
            Choice("dotted", {"error_codes": "dotted"}),
            Choice("numbered", {"error_codes": "numbered"}),
        ),
    ),
    Point(
        # Unknown members must not disturb a client, and the stated two are enough for it.
        "gateway.error-context",
        ("19",),
        "members of an error in addition to error and message",
        (Choice("some"), Choice("none", {"error_context": "none"}), Choice("more", {"error_context": "more"})),
    ),
    Point(
        # Open point 11. OpenAPI shows the name, so half of the seeds leave it to the suite.
        "gateway.receipt-member",
        ("11",),
        "member that carries the receipt",
        tuple(
            Choice(name, {"receipt_member": name}, may_bind={"gateway.receipt_member": name})
            for name in ("jws", "receipt", "token", "compact")
        ),
    ),
    Point(
        # Without this member the code PAYMENT_HASH_MISMATCH cannot occur, so the row about it is undecidable and
        # not failed.
        "gateway.receipt-hash",
        ("11",),
        "member with the payment hash that the caller of receipt verification expects",
        (
            *(
                Choice(name, {"receipt_hash": name}, binds={"gateway.receipt_hash_member": name})
                for name in ("expected_payment_hash", "bound_to")
            ),
            Choice(
                "none", {"receipt_hash": ""}, undecidable_rows={"GW-RCPT-22": "the eighth vector cannot be asked about"}
            ),
        ),
    ),
    Point(
        # The interface demands nine typed codes and does not name them (20).
        "gateway.receipt-codes",
        ("20", "C-10"),
        "names of the nine typed codes",
        (
            Choice("UPPER_SNAKE", may_bind={"gateway.receipt_codes": list(CODES)}),
            *(
                Choice(
                    name,
                    {"receipt_codes": name},
                    may_bind={"gateway.receipt_codes": [receipt_code(code, name) for code in CODES]},
                )
                for name in ("kebab", "numbered")
            ),
        ),
    ),
    Point(
        # One of nine typed codes must be in the report. The report's shape is open (19, 20).
        "gateway.report",
        ("19", "20"),
        "shape of a verification's report",
        (
            Choice("verified and error_code"),
            Choice("outcome and failure", {"report": "outcome"}),
            Choice("nested", {"report": "nested"}),
        ),
    ),
    Point(
        # The path is open (13). A path that is easy to find is not always bound, so the suite has to find it.
        "gateway.jwks-path",
        ("13",),
        "path of the key document",
        (
            Choice("/.well-known/jwks.json", may_bind={"gateway.jwks_path": "/.well-known/jwks.json"}),
            Choice("/v1/keys", {"jwks_path": "/v1/keys"}, may_bind={"gateway.jwks_path": "/v1/keys"}),
            Choice(
                "/receipts/keys.json",
                {"jwks_path": "/receipts/keys.json"},
                binds={"gateway.jwks_path": "/receipts/keys.json"},
            ),
        ),
    ),
    Point(
        # X-OAS-01 demands the document and no certain address.
        "gateway.openapi-path",
        ("X-OAS-01",),
        "path of the contract",
        (
            Choice("/openapi.json", may_bind={"gateway.openapi_path": "/openapi.json"}),
            Choice(
                "/docs/contract.json",
                {"openapi_path": "/docs/contract.json"},
                binds={"gateway.openapi_path": "/docs/contract.json"},
            ),
        ),
    ),
    Point(
        # Open point 17. A suite that sends no credentials would fail here for the wrong reason.
        "gateway.open-calls",
        ("17",),
        "whether verification and screening want a tenant's credentials",
        (Choice("no"), Choice("yes", {"open_calls": "tenants"})),
    ),
    Point(
        # Body and response of screening are open (12), so bodies for the three verdicts must be bound.
        "gateway.screen-request",
        ("12",),
        "body of a screening",
        (
            Choice("recipient_address and network", binds=_screens("flat")),
            Choice("address and chain", {"screen_request": "renamed"}, binds=_screens("renamed")),
            Choice("subject", {"screen_request": "nested"}, binds=_screens("nested")),
        ),
    ),
    Point(
        "gateway.screen-answer",
        ("12",),
        "answer of a screening, and the place of its receipt",
        (
            Choice("flat", may_bind={"gateway.screen_receipt_member": "compliance_receipt_jws"}),
            Choice("nothing but the receipt", {"screen_answer": "receipt only"}),
            Choice("nested", {"screen_answer": "nested"}),
        ),
    ),
    Point(
        # Open point 32. 451 is "Unavailable For Legal Reasons" (RFC 7725).
        "gateway.screen-status",
        ("32",),
        "status of a screening that ends in DENY",
        (Choice("200"), Choice("451", {"screen_status": 451})),
    ),
    Point(
        # Members of a resource are open (2), and nothing but the operator can say which body creates one.
        "gateway.resource",
        ("2",),
        "body and answer of a resource's creation",
        (
            Choice(
                "resource_id",
                binds={"gateway.resource_body": {"resource_id": "weldproof-{unique}", "amount_microunits": 250000}},
            ),
            Choice(
                "name",
                {"resource": "renamed"},
                binds={"gateway.resource_body": {"name": "weldproof-{unique}", "price_microunits": 250000}},
            ),
            Choice(
                "slug and price",
                {"resource": "nested"},
                binds={"gateway.resource_body": {"slug": "weldproof-{unique}", "price": {"microunits": 250000}}},
            ),
        ),
    ),
    Point(
        "gateway.link-members",
        ("1",),
        "members of a link's answer in addition to the five",
        (Choice("some"), Choice("none", {"link_members": "few"}), Choice("more", {"link_members": "more"})),
    ),
    Point(
        # A deployment may demand more members than the interface names (1).
        "gateway.link-wants",
        ("1",),
        "further members that a link's creation demands",
        (
            Choice("none"),
            Choice("order_id", {"link_wants": "order_id"}, binds={"gateway.link_body": {"order_id": "chameleon-1"}}),
        ),
    ),
    Point(
        "gateway.currency",
        ("1",),
        "the code that prices a link in USDC",
        (Choice("USDC"), Choice("USDCOIN", {"link_currency": "USDCOIN"}, binds={"gateway.currency": "USDCOIN"})),
    ),
    Point(
        # C-02: the separators are fixed and the complete set of names is open.
        "gateway.network-keys",
        ("1", "C-02"),
        "keys by which a link's creation names networks",
        (
            Choice("usual ones"),
            Choice(
                "its own",
                {"own_networks": True},
                binds={f"networks.{own}.network": key for key, own in OWN_NETWORKS.items()},
            ),
        ),
    ),
    Point(
        # GW-LINK-17 asks that a token cannot be guessed. All three forms carry 128 bits.
        "gateway.link-token",
        ("GW-LINK-17",),
        "form of a link's token",
        (
            Choice("22 of base64url"),
            Choice("32 digits", {"link_token": "hex"}),
            Choice("a UUID", {"link_token": "uuid"}),
        ),
    ),
    Point(
        # Open point 26. The suite reads `expires_at` and must not assume a day.
        "gateway.link-lifetime",
        ("26",),
        "lifetime of a link if the request names none",
        (Choice("86400 s"), Choice("7200 s", settings={"WP_LINK_TTL_DEFAULT": "7200"})),
    ),
    Point(
        # RFC 3339, 5.6: the offset may be numeric and a fraction may follow.
        "gateway.times",
        ("1",),
        "spelling of UTC times",
        (
            Choice("Z"),
            Choice("+00:00", {"times": "offset"}),
            Choice("milliseconds and Z", {"times": "fractions"}),
            Choice("microseconds and +00:00", {"times": "long fractions"}),
        ),
    ),
    Point(
        "gateway.network-labels",
        ("1", "C-02"),
        "names of networks in a link's chain",
        (
            Choice(
                "keys with hyphens",
                may_bind={f"networks.{key}.label": key.replace("_", "-") for key in _NETWORKS},
            ),
            Choice(
                "other names",
                {"network_labels": "short"},
                may_bind={f"networks.{key}.label": label_of(key) for key in _NETWORKS},
            ),
        ),
    ),
    Point(
        # C-12: a refusal by 409 or 422, or the original answer, can each be read from the interface.
        "gateway.idempotency-conflict",
        ("C-12",),
        "the same Idempotency-Key with another body",
        (
            Choice("409", may_bind={"gateway.idempotency_conflict": [409]}),
            Choice("422", {"conflict": "422"}, may_bind={"gateway.idempotency_conflict": [422]}),
            Choice("the original", {"conflict": "original"}),
        ),
    ),
    Point(
        # C-12: the same stored answer with and without a mark is a replay.
        "gateway.replay-header",
        ("C-12",),
        "whether a replayed answer says that it is one",
        (Choice("yes"), Choice("no", {"replay_header": False})),
    ),
    Point(
        # C-09: both forms let 60 calls at once pass and refuse more than 360 in a minute.
        "gateway.tenant-limit",
        ("C-09",),
        "what 300 a minute with a burst of 60 means",
        (Choice("a bucket"), Choice("a window", {"tenant_limit": "window"})),
    ),
    Point(
        # C-13 and open point 8. Selectors are bound on half of the seeds; on the others the suite finds the values
        # in the text.
        "gateway.page",
        ("8", "C-13"),
        "markup of the checkout page",
        (
            Choice("cards with a script"),
            Choice("a table without a script", {"page": "table"}, may_bind={"gateway.checkout_selectors": _selectors}),
            Choice("a list without a script", {"page": "list"}, may_bind={"gateway.checkout_selectors": _selectors}),
        ),
    ),
    Point(
        # GW-CHK-02 demands a code that can be scanned. The suite has to render each kind.
        "gateway.qr",
        ("GW-CHK-02",),
        "kind of the QR code's image, on pages that are not the reference's own",
        (
            Choice("a PNG of its own address"),
            Choice("a PNG in the page", {"qr": "png data"}),
            Choice("a drawing", {"qr": "svg"}),
        ),
    ),
    Point(
        # People write amounts in these ways. A check that compares characters would fail honest pages.
        "gateway.amount-text",
        ("GW-CHK-04",),
        "how the page writes the amount",
        (
            Choice("1.25 USDC"),
            Choice("USDC 1.250000", {"amount_text": "before, six places"}),
            Choice("1,25 USDC", {"amount_text": "comma"}),
        ),
    ),
    Point(
        # Names of states are open (8), and a page writes them for people.
        "gateway.state-words",
        ("8",),
        "the page's word for a link that waits for its payment",
        (
            Choice("Waiting for payment"),
            Choice("Open", {"state_words": "open"}),
            Choice("Not paid yet", {"state_words": "unpaid"}),
        ),
    ),
    Point(
        "gateway.page-media",
        ("C-13",),
        "spelling of the page's media type",
        (Choice("with a charset"), Choice("without", {"page_media": "text/html"})),
    ),
    Point(
        # RFC 9110, 15.5.5 and 15.5.11: 404 and 410 both say that the resource does not exist.
        "gateway.unknown-token",
        ("19",),
        "status for an unknown checkout token",
        (Choice("404"), Choice("410", {"unknown_token": 410})),
    ),
)
