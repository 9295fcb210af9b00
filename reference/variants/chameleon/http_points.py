"""The open points of HTTP, JSON and keys, on every surface."""

from __future__ import annotations

from reference.variants.chameleon.points import Choice, Point

# The name of a console command is fixed when it is installed. So it keeps its word even if the service has another one.
_CONSOLES = {
    "addons.federation_validator.console": "weldproof-federation-validator",
    "addons.zkp_receipt.console": "weldproof-zkp-receipt",
    "addons.atb_verifier.console": "weldproof-atb-credential-verifier",
}
_NAMED_OTHERWISE = {"CP-CONF-08": "the commands that are installed are called weldproof-…"}

POINTS = (
    Point(
        # P-SW-01: the word is a setting of the operator. Headers, kinds and hash prefixes follow from it.
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
        # RFC 8259 leaves white space, order of members and escapes open. A number is meant by its value, so 5 and
        # 5.0 are equal (P-CV-05).
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
        # RFC 9110, 5.1: field names are case-insensitive.
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
        # RFC 9110, 8.3.1: type, subtype and parameter names are case-insensitive. RFC 8259, section 11: a charset
        # has no effect on JSON.
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
        # RFC 9110, 5.1: a recipient ignores fields that it does not recognise. Proxies add some.
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
        # CORS is a rule for browsers. The interface leaves it open (31).
        "http.cors",
        ("31",),
        "whether answers allow scripts of other origins",
        (Choice("any origin"), Choice("none", {"cors": "none"})),
    ),
    Point(
        # HEAD and OPTIONS are open (31). 405 is what many frameworks answer by default.
        "http.options",
        ("31",),
        "the answer to OPTIONS",
        (Choice("204"), Choice("200", {"options": "200"}), Choice("405", {"options": "405"})),
    ),
    Point("http.head", ("31",), "the answer to HEAD", (Choice("as GET"), Choice("405", {"head": "405"}))),
    Point(
        # RFC 9110, 10.2.3: seconds or an HTTP date.
        "http.retry-after",
        ("19", "24", "RFC 9110"),
        "form of Retry-After, which RFC 9110 allows in two",
        (Choice("seconds"), Choice("HTTP date", {"retry_after": "date"})),
    ),
    Point(
        # The interface demands 429 and Retry-After. The three `X-RateLimit` headers are those of deployed services.
        "http.rate-headers",
        ("24",),
        "headers that report limits",
        (
            Choice("X-RateLimit-*"),
            Choice("none", {"rate_headers": "none"}),
            Choice("RateLimit and RateLimit-Policy", {"rate_headers": "ratelimit"}),
        ),
    ),
    Point(
        # P-CV-11: the interface demands the header of the gateway, and its form is open.
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
        # RFC 7515, 4.1.4: `kid` is optional and its structure is not specified. RFC 7517, 4.5 says the same of a
        # key.
        "keys.kid",
        ("15", "C-11"),
        "the name of the signing key, in the key set and in the heads of signatures",
        (
            Choice("a digest of the key"),
            Choice("a label", {"kid": "labelled"}),
            Choice("a DID URL", {"kid": "did-url"}),
            Choice("in the key set only", {"kid": "not in the header"}),
            Choice("nothing", {"kid": "nowhere"}),
        ),
    ),
    Point(
        # RFC 7517, 5: keys of types that a reader does not understand are ignored. So a P-256 key may come first.
        "keys.jwks",
        ("15",),
        "other keys in the key set, and their place",
        (
            Choice("none"),
            Choice("a retired one and a P-256 one after", {"jwks": "others after"}),
            Choice("a P-256 one and a retired one before", {"jwks": "others before"}),
        ),
    ),
    Point(
        # RFC 7517, 4: members that are not understood are ignored.
        "keys.jwk-members",
        ("15",),
        "members of a key in addition to those of RFC 8037",
        (
            Choice("use"),
            Choice("alg and use", {"jwk_members": "alg"}),
            Choice("key_ops, alg, ext", {"jwk_members": "key_ops"}),
        ),
    ),
    Point(
        # DID Core 1.0 allows relative URLs (3.2.2), embedded verification methods (5.3) and other types of keys.
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
        # RFC 9864 registers `Ed25519` next to `EdDSA`. RFC 7515: `typ` and `cty` are optional, and unknown members
        # are ignored.
        "keys.jws-header",
        ("4", "15"),
        "members of a signature's head in addition to kid",
        (
            Choice("alg EdDSA, typ JWT"),
            Choice("alg Ed25519", {"jws_header": {"alg": "Ed25519"}}),
            Choice("no typ", {"jws_header": {"typ": None}}),
            Choice("typ and cty of its own", {"jws_header": {"typ": "receipt+jwt", "cty": "json", "iss": "chameleon"}}),
        ),
    ),
)
