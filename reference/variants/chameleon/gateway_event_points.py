"""The open points of the gateway's events."""

from __future__ import annotations

from reference.protocol.networks import NETWORKS
from reference.variants.chameleon.gateway_events import SIGNED_TEMPLATES, event_name
from reference.variants.chameleon.points import Choice, Point

_NETWORKS = (
    *("algorand_mainnet", "algorand_testnet", "base_mainnet"),
    *("base_sepolia", "solana_mainnet", "solana_devnet"),
)
_SHORT = [10, 20, 40, 80]
_HEADER = "X-AcmePay-Signature"


POINTS = (
    Point(
        # The signature covers bytes, so a receiver must not depend on how the JSON is written.
        "gateway.event-json",
        ("WH-DELIV-04",),
        "how an event's JSON is written",
        (
            Choice("compact"),
            *(Choice(name, {"event_json": name}) for name in ("indented", "reversed", "escaped")),
        ),
    ),
    Point(
        "gateway.event-members",
        ("18",),
        "members of an event in addition to those that are stated",
        (Choice("some"), Choice("none", {"event_members": "stated"}), Choice("more", {"event_members": "more"})),
    ),
    Point(
        "gateway.event-version",
        ("WH-BODY-04",),
        "text of api_version",
        (Choice("1"), Choice("a day", {"event_version": "2026-11-01"}), Choice("v2-β", {"event_version": "v2-β"})),
    ),
    Point(
        # The interface says "Unix time in seconds" and not of what. The few seconds stay within every tolerance.
        "gateway.event-created",
        ("WH-BODY-03",),
        "moment in created",
        (Choice("of the change"), Choice("a little earlier", {"event_created": -15})),
    ),
    Point(
        "gateway.event-amount",
        ("WH-BODY-11",),
        "how amount_pretty writes the amount",
        (
            Choice("1.25 USDC"),
            Choice("1.250000 USDC", {"event_pretty": "six places"}),
            Choice("USDC 1.25", {"event_pretty": "before"}),
            Choice("1.25", {"event_pretty": "digits alone"}),
        ),
    ),
    Point(
        "gateway.event-chain",
        ("1", "C-02"),
        "names of networks in an event",
        (
            Choice(
                "algorand:testnet, eip155:84532",
                may_bind={f"networks.{key}.event": NETWORKS[key].event for key in _NETWORKS},
            ),
            Choice(
                "other names",
                {"event_chain": "short"},
                may_bind={f"networks.{key}.event": event_name(key) for key in _NETWORKS},
            ),
        ),
    ),
    Point(
        "gateway.event-asset",
        ("WH-BODY-07",),
        "form of the asset's id",
        (Choice("alone"), Choice("with its chain", {"event_asset": "with its chain"})),
    ),
    Point(
        # Both cases name the same address, because EVM addresses are compared by their bytes (P-NW-04).
        "gateway.event-evm-case",
        ("WH-BODY-13",),
        "case of addresses and hashes of an EVM chain",
        (Choice("as the link has it"), Choice("the other", {"evm_event_case": "other"})),
        lane="base",
    ),
    Point(
        # The interface writes the name with a placeholder for the service. HTTP compares names without regard to
        # case.
        "gateway.event-header",
        ("16",),
        "name of the signature's header",
        (
            Choice("X-<Service>-Signature"),
            Choice("in lower case", {"event_header": "lower"}),
            Choice("in capitals", {"event_header": "upper"}),
            Choice("another word", {"event_header": _HEADER}, binds={"webhook.header": _HEADER}),
        ),
    ),
    Point(
        # Open point 16: the string under the signature is not stated. A receiver learns it from the operator, hence
        # the binding.
        "gateway.event-signed",
        ("16",),
        "string under the signature",
        tuple(
            Choice(name, {"event_signed": template}, binds={"webhook.signed_string": template})
            for name, template in SIGNED_TEMPLATES.items()
        ),
    ),
    Point(
        # A secret with a prefix is often base64 behind it. Nothing on the wire shows which bytes are the key.
        "gateway.event-key",
        ("16",),
        "how a destination's secret is the key of its signatures",
        (
            Choice("its text", binds={"webhook.key": "text"}),
            Choice("what it decodes to", {"event_key": "base64"}, binds={"webhook.key": "base64"}),
        ),
    ),
    Point(
        # The case of hexadecimal digits is not stated.
        "gateway.event-hex",
        ("WH-SIG-03",),
        "case of v1's digits",
        (Choice("lower"), Choice("upper", {"event_hex": "upper"})),
    ),
    Point(
        "gateway.event-signature-members",
        ("16",),
        "members of the signature's header behind v1",
        (
            Choice("none"),
            Choice("v2", settings={"WP_WEBHOOK_V2": "on"}),
            Choice("another", {"event_signature_more": ",kid=2026-11"}),
        ),
    ),
    Point(
        "gateway.event-media",
        ("18",),
        "spelling of an event's media type",
        (
            Choice("application/json"),
            Choice("with a charset", {"event_media": "application/json; charset=utf-8"}),
            Choice("in capitals", {"event_media": "Application/JSON"}),
        ),
    ),
    Point(
        "gateway.event-headers",
        ("18",),
        "further header fields of a delivery",
        (
            Choice("none"),
            Choice("its id and another agent", {"event_headers": {"User-Agent": "acme-hooks/2", "X-Event-Id": "1"}}),
        ),
    ),
    Point(
        # RFC 9112, 7.1: every recipient must be able to parse the chunked coding.
        "gateway.event-framing",
        ("31",),
        "framing of a delivery's body",
        (Choice("with its length"), Choice("in chunks", {"event_chunked": True})),
    ),
    Point(
        # Delivery is at least once, and receivers deduplicate by `id` (P-WH-13).
        "gateway.event-twice",
        ("18",),
        "whether an event comes more than once to a receiver that answers",
        (Choice("no"), Choice("yes", {"event_twice": True})),
    ),
    Point(
        "gateway.event-types",
        ("18",),
        "events of other types at a destination",
        (Choice("none"), Choice("link.closed", {"event_type_more": "link.closed"})),
    ),
    Point(
        # The schedule is open (18), and nothing on the wire shows it in advance, so both choices are bound.
        "gateway.event-schedule",
        ("18",),
        "when a delivery that failed is tried again, and when one has failed",
        (
            Choice(
                "30 s to 6 h, after 5 s",
                binds={"webhook.schedule": [30, 120, 600, 3600, 21600], "webhook.timeout": 5.0},
            ),
            Choice(
                "10 s to 80 s, after 2 s",
                settings={"WP_WEBHOOK_SCHEDULE": ",".join(map(str, _SHORT)), "WP_WEBHOOK_TIMEOUT": "2"},
                binds={"webhook.schedule": _SHORT, "webhook.timeout": 2.0},
            ),
        ),
    ),
)
