"""The points of HTTP, JSON and keys, which are open on every surface."""

from __future__ import annotations

from reference.variants.chameleon.points import Choice, Point

# A console command's name is fixed when it is installed.
_CONSOLES = {
    "addons.federation_validator.console": "weldproof-federation-validator",
    "addons.zkp_receipt.console": "weldproof-zkp-receipt",
    "addons.atb_verifier.console": "weldproof-atb-credential-verifier",
}
_NAMED_OTHERWISE = {"CP-CONF-08": "the commands that are installed are called weldproof-…"}

POINTS = (
    Point(
        "http.service-word",
        ("16",),
        "the word of the deployment: kinds, hash prefixes, names in documents",
        (
            Choice("Weldproof", binds={"target.service_word": "Weldproof", **_CONSOLES}),
            Choice(
                "Acme7",
                settings={"WP_SERVICE_WORD": "Acme7"},
                binds={"target.service_word": "Acme7"},
                undecidable_rows=_NAMED_OTHERWISE,
            ),
            Choice(
                "zahlwerk",
                settings={"WP_SERVICE_WORD": "zahlwerk"},
                binds={"target.service_word": "zahlwerk"},
                undecidable_rows=_NAMED_OTHERWISE,
            ),
        ),
    ),
    Point(
        "http.json-style",
        ("RFC 8259",),
        "white space, order of members, escapes and whole numbers of every JSON body",
        (
            Choice("compact"),
            Choice("indented", {"json_style": "indented"}),
            Choice("members the other way round", {"json_style": "reversed"}),
            Choice("sorted members and escapes", {"json_style": "escaped"}),
            Choice("whole numbers with a point: 5.0", {"json_style": "fractions"}),
        ),
    ),
    Point(
        "http.header-case",
        ("31", "RFC 9110"),
        "letter case of header names",
        (
            Choice("lower case"),
            Choice("Title-Case", {"header_case": "title"}),
            Choice("UPPER CASE", {"header_case": "upper"}),
        ),
    ),
    Point(
        "http.media-type",
        ("31", "RFC 9110"),
        "spelling of application/json and its parameters",
        (
            Choice("plain"),
            Choice("with a charset", {"media_type": "application/json; charset=utf-8"}),
            Choice("in other letters", {"media_type": "Application/JSON;charset=UTF-8"}),
        ),
    ),
    Point(
        "http.further-headers",
        ("31",),
        "headers that say nothing to the interface",
        (
            Choice("none"),
            Choice("a proxy's", {"further_headers": {"Via": "1.1 edge", "Server": "edge/7", "Vary": "Accept, Origin"}}),
            Choice(
                "a guarded site's",
                {
                    "further_headers": {
                        "Strict-Transport-Security": "max-age=31536000",
                        "X-Content-Type-Options": "nosniff",
                        "Set-Cookie": "region=eu; Path=/; HttpOnly",
                    }
                },
            ),
        ),
    ),
    Point(
        "http.cors",
        ("31",),
        "whether answers allow scripts of other origins",
        (Choice("any origin"), Choice("none", {"cors": "none"})),
    ),
    Point(
        "http.options",
        ("31",),
        "the answer to OPTIONS",
        (Choice("204"), Choice("200", {"options": "200"}), Choice("405", {"options": "405"})),
    ),
    Point("http.head", ("31",), "the answer to HEAD", (Choice("as GET"), Choice("405", {"head": "405"}))),
    Point(
        "http.retry-after",
        ("19", "24", "RFC 9110"),
        "form of Retry-After, which RFC 9110 allows in two",
        (Choice("seconds"), Choice("HTTP date", {"retry_after": "date"})),
    ),
    Point(
        "http.rate-headers",
        ("24",),
        "headers that tell of limits",
        (
            Choice("X-RateLimit-*"),
            Choice("none", {"rate_headers": "none"}),
            Choice("RateLimit and RateLimit-Policy", {"rate_headers": "ratelimit"}),
        ),
    ),
    Point(
        "http.request-id",
        ("31",),
        "form of X-Request-Id",
        (
            Choice("req_ and digits"),
            Choice("a UUID", {"request_id": "uuid"}),
            Choice("26 letters and digits", {"request_id": "letters"}),
        ),
    ),
    Point(
        "keys.kid",
        ("15", "C-11"),
        "what names the signing key, in the key set and in the heads of signatures",
        (
            Choice("a digest of the key"),
            Choice("a label", {"kid": "labelled"}),
            Choice("a DID URL", {"kid": "did-url"}),
            Choice("in the key set only", {"kid": "not in the header"}),
            Choice("nothing", {"kid": "nowhere"}),
        ),
    ),
    Point(
        "keys.jwks",
        ("15",),
        "which other keys stand in the key set, and where",
        (
            Choice("none"),
            Choice("a retired one and a P-256 one after", {"jwks": "others after"}),
            Choice("a P-256 one and a retired one before", {"jwks": "others before"}),
        ),
    ),
    Point(
        "keys.jwk-members",
        ("15",),
        "members of a key beside those of RFC 8037",
        (
            Choice("use"),
            Choice("alg and use", {"jwk_members": "alg"}),
            Choice("key_ops, alg, ext", {"jwk_members": "key_ops"}),
        ),
    ),
    Point(
        "keys.did-document",
        ("15",),
        "how the DID document writes its keys",
        (
            Choice("JsonWebKey2020"),
            Choice("Multikey", {"did_document": "multikey"}),
            Choice("inside assertionMethod", {"did_document": "embedded"}),
            Choice("relative ids", {"did_document": "relative"}),
            Choice("no relationships", {"did_document": "bare"}),
            Choice("inside assertionMethod alone", {"did_document": "embedded alone"}),
        ),
    ),
    Point(
        "keys.media-type",
        ("15", "31"),
        "media types of the key documents",
        (Choice("registered ones"), Choice("application/json", {"key_media_type": "json"})),
    ),
    Point(
        "keys.jws-header",
        ("4", "15"),
        "members of a signature's head beside kid",
        (
            Choice("alg EdDSA, typ JWT"),
            Choice("alg Ed25519", {"jws_header": {"alg": "Ed25519"}}),
            Choice("no typ", {"jws_header": {"typ": None}}),
            Choice("typ and cty of its own", {"jws_header": {"typ": "receipt+jwt", "cty": "json", "iss": "chameleon"}}),
        ),
    ),
)
