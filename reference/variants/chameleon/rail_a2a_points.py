"""The open points of the rail's A2A and of its card."""

from __future__ import annotations

from reference.variants.chameleon.points import Choice, Point

_URI = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2"
_OLDER_URI = "https://github.com/google-agentic-commerce/a2a-x402/v0.1"


POINTS = (
    Point(
        # The bodies beyond JSON-RPC are open (10). Words that only this target uses must be bound.
        "rail.a2a-order",
        ("10",),
        "what a message says to order a paid service",
        (
            Choice(
                "service_id and request",
                may_bind={"rail.a2a_request": {"service_id": "{service}", "request": "{body}"}},
            ),
            Choice("a skill and request", {"a2a_order": "skill"}),
            Choice(
                "path and body",
                {"a2a_order": "path"},
                may_bind={"rail.a2a_request": {"path": "{path}", "body": "{body}"}},
            ),
            Choice("a text", {"a2a_order": "text"}),
            Choice(
                "words of its own",
                {"a2a_order": "own words"},
                binds={
                    "rail.a2a_request": {"order": {"what": "{service}", "with": "{body}"}},
                    "rail.services": lambda shape: dict(shape.paths),
                },
            ),
        ),
    ),
    Point(
        # C-18: "named a2a-x402" can mean a literal state, or A2A's own state with the word in the metadata.
        "rail.a2a-state",
        ("C-18", "8", "9"),
        "the payment-required state",
        (
            Choice("input-required with metadata"),
            Choice("a2a-x402 with metadata", {"a2a_state": "literal"}),
            Choice("a2a-x402 with its terms in a part", {"a2a_state": "literal, terms in a part"}),
        ),
    ),
    Point(
        # The a2a-x402 extension puts its members into metadata. Whether that of the message or of the task can be
        # read either way (C-18).
        "rail.a2a-terms",
        ("C-18",),
        "whose metadata describes the payment",
        (
            Choice("the status message's"),
            Choice("the task's", {"a2a_terms": "task"}),
            Choice("the status message's, which has no word for the status", {"a2a_terms": "no status"}),
        ),
    ),
    Point(
        # A2A 0.3 requires id, contextId, status and kind of a task.
        "rail.a2a-task",
        ("10",),
        "members of a task beyond those that A2A demands",
        (Choice("some"), Choice("none", {"a2a_task": "few"}), Choice("more", {"a2a_task": "more"})),
    ),
    Point(
        # A2A 0.3 answers with the task itself. A2A 1.0 puts it into a member.
        "rail.a2a-result",
        ("10",),
        "the place of the task in an answer",
        (Choice("it is the result"), Choice("in a member of the result", {"a2a_result": "wrapped"})),
    ),
    Point(
        # Ids are opaque to the client.
        "rail.a2a-ids",
        ("10",),
        "form of a task's id",
        (
            Choice("a UUID"),
            Choice("a prefix and digits", {"a2a_ids": "prefixed"}),
            Choice("digits", {"a2a_ids": "digits"}),
        ),
    ),
    Point(
        # An unknown task should be a JSON-RPC error (5.11), and its number is not stated.
        "rail.a2a-errors",
        ("10", "21"),
        "the error for an unknown task",
        (
            Choice("-32001"),
            Choice("-32602 and data", {"a2a_errors": "-32602 and data"}),
            Choice("-32000 without a text", {"a2a_errors": "-32000"}),
        ),
    ),
    Point(
        # A card may require an extension. Then a client has to activate it by the header.
        "rail.a2a-extension",
        ("9", "10"),
        "the payment extension: its URI, and whether it has to be activated",
        (
            Choice("version 0.2", may_bind={"rail.a2a_uri": _URI}),
            Choice("version 0.1", settings={"WP_A2A_X402_URI": _OLDER_URI}, may_bind={"rail.a2a_uri": _OLDER_URI}),
            Choice(
                "demanded",
                {"a2a_demands_extension": True},
                binds={"rail.a2a_uri": _URI},
            ),
        ),
    ),
    Point(
        "rail.card",
        ("10",),
        "members of the rail's card beyond those that are demanded",
        (Choice("some"), Choice("none", {"rail_card": "few"}), Choice("more", {"rail_card": "more"})),
    ),
)
