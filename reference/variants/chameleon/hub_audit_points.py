"""The open points of the control plane's audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.variants.chameleon.points import Choice, Point
from reference.variants.chameleon.variant_shape import Shape

# The names of members in each form of an entry. A member without a name is left out.
NAMES: Mapping[str, Mapping[str, str]] = {
    "flat": {name: name for name in ("seq", "ts_ms", "actor", "action", "subject", "payload", "prev_mac", "mac")},
    "words": {
        "seq": "id",
        "ts_ms": "at",
        "actor": "by",
        "action": "event",
        "subject": "target",
        "payload": "data",
        "prev_mac": "previous",
        "mac": "signature",
    },
    "few": {"ts_ms": "time", "action": "event", "subject": "target", "prev_mac": "previous_hash", "mac": "hash"},
    "unnamed": {
        "seq": "n",
        "ts_ms": "when",
        "action": "what",
        "subject": "did",
        "payload": "more",
        "mac": "hmac",
    },
}


def _chain(shape: Shape) -> dict[str, Any]:
    """Return the description of the log's chain that an operator writes into the profile."""
    names = NAMES[shape.audit_entry]
    chain = {"mac": names["mac"], "recipe": shape.audit_recipe, "key": shape.audit_key, "genesis": shape.audit_genesis}
    return chain | {name: names[one] for name, one in (("seq", "seq"), ("prev", "prev_mac")) if one in names}


# A profile names members of an entry, and cannot name members of objects in it.
_IN_OBJECTS = dict.fromkeys(("CP-AUDIT-05", "CP-AUDIT-07"), "the profile cannot name a MAC inside an object")
_MAY = {"hub.audit_chain": _chain}
_FIRST = {"hub.audit_page": "after={seq}&limit=1000"}

POINTS = (
    Point(
        "hub.audit-document",
        ("28",),
        "the place of the entries in the log's document",
        (
            Choice("entries", may_bind={"hub.audit_entries_at": "entries"}),
            Choice("log", {"audit_document": "log"}, may_bind={"hub.audit_entries_at": "log"}),
            Choice("a list", {"audit_document": "bare"}, may_bind={"hub.audit_entries_at": ""}),
            Choice(
                "inside an object", {"audit_document": "nested"}, may_bind={"hub.audit_entries_at": "audit.records"}
            ),
        ),
    ),
    Point(
        # The interface demands a log and no order. The parameter of a page can only be bound for the first choice.
        "hub.audit-order",
        ("28",),
        "order of the entries",
        (
            Choice("oldest first", may_bind=_FIRST),
            Choice("newest first", {"audit_order": "newest first"}),
        ),
    ),
    Point(
        "hub.audit-entry",
        ("28",),
        "members of an entry",
        (
            Choice("seq, ts_ms, actor, action, subject, payload, prev_mac, mac", may_bind=_MAY),
            Choice("other words", {"audit_entry": "words"}, may_bind=_MAY),
            Choice("few, without a number", {"audit_entry": "few"}, may_bind=_MAY),
            Choice("without the MAC before it", {"audit_entry": "unnamed"}, may_bind=_MAY),
            Choice("in objects", {"audit_entry": "nested"}, undecidable_rows=_IN_OBJECTS),
        ),
    ),
    Point(
        "hub.audit-actions",
        ("28",),
        "what an entry calls a change",
        (
            Choice("dotted words"),
            Choice("words in capitals", {"audit_actions": "capitals"}),
            Choice("a sentence", {"audit_actions": "sentence"}),
            Choice("numbers", {"audit_actions": "numbers"}),
        ),
    ),
    Point(
        "hub.audit-times",
        ("28",),
        "form of an entry's time",
        (
            Choice("milliseconds"),
            Choice("UTC text", {"audit_times": "text"}),
            Choice("seconds", {"audit_times": "seconds"}),
        ),
    ),
    Point(
        # Key and algorithm of the chain are open (29). The suite recomputes the chain only if an operator describes
        # it.
        "hub.audit-recipe",
        ("29",),
        "what an entry's MAC covers, and how that is written",
        (
            Choice("jcs-without-mac"),
            Choice("sorted-json-without-mac", {"audit_recipe": "sorted-json-without-mac"}),
            Choice("prev-jcs", {"audit_recipe": "prev-jcs"}),
            Choice("jcs-newline-prev", {"audit_recipe": "jcs-newline-prev"}),
        ),
    ),
    Point(
        "hub.audit-key",
        ("29",),
        "how the text of the key file becomes the chain key",
        (Choice("hex"), Choice("as it stands", {"audit_key": "text"})),
    ),
    Point(
        # The first entry needs some value in place of a previous MAC, and the interface names none.
        "hub.audit-genesis",
        ("29",),
        "the MAC before the first entry",
        (
            Choice("64 zeros"),
            Choice("nothing", {"audit_genesis": ""}),
            Choice("a word", {"audit_genesis": "genesis"}),
        ),
    ),
    Point(
        "hub.audit-mac",
        ("29",),
        "spelling of MACs",
        (
            Choice("hex"),
            Choice("hex in capitals", {"audit_mac": "HEX"}),
            Choice("base64url", {"audit_mac": "base64url"}),
        ),
    ),
    Point(
        "hub.audit-starts",
        ("28",),
        "whether the log records its opening at each start",
        (Choice("no"), Choice("yes", {"audit_starts": True})),
    ),
    Point(
        # CP-AUDIT-02 is about changes of trust. Whether registering a service is one can be read either way.
        "hub.audit-services",
        ("28", "CP-AUDIT-02"),
        "whether registrations of services are in the log, which is about changes of trust",
        (Choice("yes"), Choice("no", {"audit_services": False})),
    ),
)
