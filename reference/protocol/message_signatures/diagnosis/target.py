"""What signers and proxies do to method, scheme and authority (RFC 9421 section 2.2; appendix B.3 on proxies)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reference.protocol.message_signatures import components
from reference.protocol.message_signatures.diagnosis.case import Case, Suspect, shown

_PORT = re.compile(r":\d+$")
_FORWARDED = re.compile(r'(host|proto)="?([^";,\s]+)"?', re.IGNORECASE)
_AUTHORITY_FIELDS = ("host", "x-forwarded-host", "x-original-host", "forwarded")
_OVERRIDES = ("x-http-method-override", "x-http-method", "x-method-override")


def method(case: Case) -> Iterator[Suspect]:
    """The method in another case, or the one before something overrode it."""
    sent = case.message.method
    if sent is None or not case.covers("@method"):
        return
    advice = "Sign the method as it is sent (RFC 9421 section 2.2.1)."
    for word, written in (("upper", sent.upper()), ("lower", sent.lower())):
        yield Suspect(
            f"The signature holds with @method {shown(written)}: the signer wrote @method in {word} case and the"
            f" message has {shown(sent)}. {advice}",
            case.with_message(method=written),
        )
    for name in _OVERRIDES:
        written = case.message.fields.combined(name) or ""
        yield Suspect(
            f"The signature holds with the method that {name} names, {shown(written)}. {advice}",
            case.with_message(method=written),
        )
    if sent in {"GET", "HEAD"}:
        other = "HEAD" if sent == "GET" else "GET"
        note = f"The signature holds with @method {other}: something between turned {other} into {sent}. {advice}"
        yield Suspect(note, case.with_message(method=other))


def scheme(case: Case) -> Iterator[Suspect]:
    """The other scheme, as behind a proxy that ends TLS."""
    sent = case.message.scheme
    if sent is None or not case.covers("@scheme", "@target-uri", "@authority"):
        return
    others = {"https": ("http", "wss"), "http": ("https", "ws")}.get(sent.lower(), ("https", "http"))
    for other in others:
        yield Suspect(
            f"The signature holds with the scheme {other} instead of {shown(sent)}: judge the message by the scheme"
            " that the signer used, which a proxy that ends TLS has to tell (RFC 9421 section 2.2.4).",
            case.with_message(scheme=other),
        )
    yield Suspect(
        "The signature holds with @scheme in another case. Sign it in lower case (RFC 9421 section 2.2.4).",
        case.with_values({"@scheme": sent.upper()}),
    )


def authority(case: Case) -> Iterator[Suspect]:
    """The authority not normalised, with another port, or the one that the client saw in front of a proxy."""
    sent = case.message.authority
    if sent is None or not case.covers("@authority", "@target-uri"):
        return
    advice = "Lower its case and leave the scheme's default port out (RFC 9421 section 2.2.3)."
    for word, written in _unnormalised(sent):
        yield Suspect(
            f"The signature holds with @authority {shown(written)}: the signer {word}. {advice}",
            case.with_values({"@authority": written, "@target-uri": _uri(case, written)}),
        )
    for place, written in _elsewhere(case, sent):
        yield Suspect(
            f"The signature holds with the authority {shown(written)} instead of {shown(sent)}: it is {place}. Judge"
            " the message by the authority that the client addressed; a proxy must pass it on (RFC 9421 appendix B.3).",
            case.with_message(authority=written),
        )


def behind_a_proxy(case: Case) -> Iterator[Suspect]:
    """Scheme and authority together, as the fields of a proxy name them."""
    given = case.message.fields
    told = dict(_FORWARDED.findall((given.combined("forwarded") or "").lower()))
    host = given.combined("x-forwarded-host") or told.get("host") or given.combined("host")
    proto = given.combined("x-forwarded-proto") or told.get("proto")
    for scheme_of in filter(None, (proto, "https", "http")):
        for host_of in filter(None, (host, case.message.authority)):
            yield Suspect(
                f"The signature holds for {shown(scheme_of)}://{shown(host_of)}, which the client addressed in front of"
                " a proxy. Give scheme and authority as the client used them, not the proxy's own (RFC 9421 appendix"
                " B.3).",
                case.with_message(scheme=scheme_of, authority=host_of),
            )


def _unnormalised(sent: str) -> Iterator[tuple[str, str]]:
    bare = _PORT.sub("", sent)
    yield "kept its case or the default port", sent
    if bare != bare.lower():
        yield "kept upper case", bare
    for port in (":443", ":80"):
        yield "added the scheme's default port", bare.lower() + port
    yield "wrote it in upper case", sent.upper()
    for prefix in ("https://", "http://"):
        yield "put the scheme in front", prefix + sent.lower()


def _elsewhere(case: Case, sent: str) -> Iterator[tuple[str, str]]:
    bare = _PORT.sub("", sent)
    yield "the same without its port", bare
    for name in _AUTHORITY_FIELDS:
        value = case.message.fields.combined(name) or ""
        if name == "forwarded":
            value = dict(_FORWARDED.findall(value.lower())).get("host", "")
        if value:
            yield f"in the field {name}", value
            port = case.message.fields.combined("x-forwarded-port") or ""
            yield f"in the field {name}, with the port in x-forwarded-port", f"{_PORT.sub('', value)}:{port}"
            yield f"in the field {name}, without its port", _PORT.sub("", value)
    yield "the same with www. in front", f"www.{sent}"
    yield "the same without www. in front", sent.removeprefix("www.")
    yield "the same without a dot at its end", bare.rstrip(".")
    for port in ("8080", "8443", "3000", "5000", "8000"):
        yield f"the same with port {port}", f"{bare}:{port}"


def _uri(case: Case, authority_of: str) -> str:
    scheme_of = (case.message.scheme or "").lower()
    return f"{scheme_of}://{authority_of}{components.request_target(case.message)}"
