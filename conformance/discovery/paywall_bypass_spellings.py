"""Other spellings of a paid call, which a paywall and the router behind it may read differently.

The paywall decides by one reading of the request, and the router by another. If they differ, the service is free. A
client library would normalise these spellings, so they are sent raw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

# A name that is no path of the server. It surrounds the paid path in dot segments.
_ELSEWHERE: Final = "weldproof-elsewhere"
_CRAWLER: Final = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
# Headers in which a proxy names the path that was called. Some frameworks route by them.
_NAMING_THE_PATH: Final = ("X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Uri", "X-Forwarded-Path")
_NAMING_THE_METHOD: Final = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")


@dataclass(frozen=True, slots=True)
class Spelling:
    """One other way to write a call.

    Attributes:
        description: What is different.
        target: The request target.
        method: The method.
        headers: Header fields in addition to those of the call.
    """

    description: str
    target: str
    method: str
    headers: tuple[tuple[str, str], ...] = ()


def path_spellings(path: str) -> Mapping[str, str]:
    """Return other spellings of a path, by what is different; empty for `/`, which has no other spelling."""
    head, _, last = path.rstrip("/").rpartition("/")
    # The root has no segment that could be written differently.
    if not last:
        return {}
    before = head or "/"  # in front of a separator that takes the place of the last slash

    def join_last(separator: str) -> str:
        return f"{before}{separator}{last}"

    targets = {
        "an encoded letter": f"{head}/%{ord(last[0]):02X}{last[1:]}" if last[0].isascii() else path,
        "a letter encoded twice": f"{head}/%25{ord(last[0]):02X}{last[1:]}" if last[0].isascii() else path,
        "an encoded slash": join_last("%2F"),
        "a slash encoded twice": join_last("%252F"),
        "an overlong slash": join_last("%c0%af"),
        "a backslash": join_last("\\"),
        "an encoded backslash": join_last("%5C"),
        "two slashes in front": f"/{path}",
        "a backslash in front": f"/\\{path[1:]}",
        "a path parameter": f"{path};x",
        "a path parameter with a value": f"{path};jsessionid=1",
        "a path parameter inside": f"{head};x/{last}" if head else f"/;x/{last}",
        "a dot segment": f"/{_ELSEWHERE}/..{path}",
        "an encoded dot segment": f"/{_ELSEWHERE}/%2e%2e{path}",
        "a dot segment with a parameter": f"/{_ELSEWHERE}/..;{path}",
        "a slash at the end": f"{head}/{last}/",
        "a percent sign at the end": f"{path}%",
        "an encoded slash at the end": f"{path}%2F",
        "an encoded question mark": f"{path}%3F",
        "an encoded number sign": f"{path}%23",
        "an encoded NUL": f"{path}%00",
        "an encoded space": f"{path}%20",
        "an encoded line end": f"{path}%0a",
        "a dot at the end": f"{path}.",
        "a format at the end": f"{path}.json",
        "the whole path in capitals": path.upper(),
    }
    return {what: target for what, target in targets.items() if target not in {path, path.rstrip("/")}}


def absolute_form(origin: str, path: str) -> str:
    """Return a path as a request target in absolute form (RFC 9112, 3.2.2)."""
    return f"{origin}{path}"


def call_spellings(method: str, path: str, origin: str) -> Iterator[Spelling]:
    """Yield every other spelling of a call.

    Args:
        method: The method that the operation takes.
        path: Its path, from the host's root.
        origin: Scheme and host.
    """
    for description, target in path_spellings(path).items():
        yield Spelling(description, target, method)
    yield Spelling("the absolute form", absolute_form(origin, path), method)
    yield Spelling("the absolute form with two slashes", absolute_form(origin, f"/{path}"), method)
    yield from _method_spellings(method, path)
    other_path = f"/{_ELSEWHERE}"
    for name in _NAMING_THE_PATH:
        yield Spelling(f"another path that {name} names it at", other_path, method, ((name, path),))
        yield Spelling(f"{name} names another path", path, method, ((name, other_path),))
    yield Spelling("Host is the machine itself", path, method, (("Host", "localhost"),))
    yield Spelling("X-Forwarded-Host is the machine itself", path, method, (("X-Forwarded-Host", "localhost"),))
    yield Spelling("X-Real-IP is the machine itself", path, method, (("X-Real-IP", "127.0.0.1"),))
    yield Spelling("a crawler's name", path, method, (("User-Agent", _CRAWLER),))


def _method_spellings(method: str, path: str) -> Iterator[Spelling]:
    for spelling in (method.lower(), method.capitalize()):
        yield Spelling(f"the method {spelling}", path, spelling)
    for other_method in ("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "PROPFIND"):
        if other_method != method:
            yield Spelling(f"the method {other_method}", path, other_method)
    for name in _NAMING_THE_METHOD:
        if method != "GET":
            yield Spelling(f"GET that {name} makes {method}", path, "GET", ((name, method),))
        yield Spelling(f"{method} that {name} makes OPTIONS", path, method, ((name, "OPTIONS"),))
