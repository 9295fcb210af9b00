"""The HTTP side of algod: methods, paths, tokens, other origins, and how it reads numbers and formats.

algod is built on the Go framework echo, and its answers show that: HEAD is not served, a slash at the end is ignored
and one at the front is not, OPTIONS is answered for every path, and a number that cannot be parsed is named as Go names
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgpack
from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from sim.algorand.encoding import Malformed, decode_address
from sim.algorand.http_replies import Refused, reply
from sim.faulty import AsgiApp

_HEADER = "X-Algo-API-Token"
_NO_TOKEN = frozenset({"/health", "/ready", "/versions", "/genesis", "/metrics", "/swagger.json", "/control"})
_METHODS = ("GET", "POST", "PUT", "DELETE")
_CORS_HEADERS = f"{_HEADER},Content-Type"
_CORS_METHODS = "GET,POST,PUT,DELETE,OPTIONS"
_U64 = 2**64 - 1
_TRUE, _FALSE = (
    frozenset({"1", "t", "T", "TRUE", "true", "True"}),
    frozenset({"0", "f", "F", "FALSE", "false", "False"}),
)


def new_node_service(token: str) -> Quart:
    """Return an app that treats calls as algod does; an empty `token` lets every client in."""
    app = Quart(__name__, static_folder=None)
    app.url_map.merge_slashes = False
    app.asgi_app = _slashes_of_echo(app.asgi_app)  # type: ignore[method-assign]

    async def before() -> Response | None:
        methods = _methods_of_path()
        if request.method == "OPTIONS":
            return _options(methods)
        if request.method == "HEAD" and methods:
            return _empty(405, methods)
        if request.routing_exception is None and token and request.path not in _NO_TOKEN and _token() != token:
            raise Refused(401, "Invalid API Token")
        return None

    async def after(answer: Response) -> Response:
        answer.headers.setdefault("Vary", "Origin")
        if "Origin" in request.headers:
            answer.headers["Access-Control-Allow-Origin"] = "*"
        return answer

    async def answer_refusal(fault: Refused) -> Response:
        return reply({"message": fault.message}, fault.status)

    async def not_served(fault: HTTPException) -> Response:
        answer = reply({"message": fault.name}, fault.code or 500)
        if isinstance(fault, MethodNotAllowed):
            answer.headers["Allow"] = _allow_header(_methods_of_path())
        return answer

    app.before_request(before)
    app.after_request(after)
    app.register_error_handler(Refused, answer_refusal)
    app.register_error_handler(HTTPException, not_served)
    # The framework's own address for OPTIONS, which makes any other method at the root "not allowed".
    app.add_url_rule("/", "root", lambda: _empty(204, {"OPTIONS"}), methods=["OPTIONS"])
    return app


def parse_unsigned(text: str, name: str) -> int:
    """Return a number of a path or a query as Go's ParseUint reads it.

    Raises:
        Refused: It is not one, or does not fit 64 bits.
    """
    if not (text.isascii() and text.isdecimal()):
        raise _unreadable(name, "ParseUint", text, "invalid syntax")
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(_U64)) or int(digits) > _U64:
        raise _unreadable(name, "ParseUint", text, "value out of range")
    return int(digits)


def flag(name: str) -> bool:
    """Return a truth value of the query as Go's ParseBool reads it; absent is false.

    Raises:
        Refused: It is not one.
    """
    text = request.args.get(name, "false")
    if text not in _TRUE | _FALSE:
        raise _unreadable(name, "ParseBool", text, "invalid syntax")
    return text in _TRUE


def address_of(text: str) -> bytes:
    """Return the key of an address in a path.

    Raises:
        Refused: It is not an address.
    """
    try:
        return decode_address(text)
    except Malformed as fault:
        where = f"error unmarshaling '{text}' text as *basics.Address"
        raise Refused(400, f"Invalid format for parameter address: {where}: {fault}") from fault


def wants_msgpack() -> bool:
    """Return whether the query asks for msgpack.

    Raises:
        Refused: It asks for something other than msgpack and JSON.
    """
    format_name = request.args.get("format", "json").lower()
    if format_name not in {"json", "msgpack"}:
        raise Refused(400, "failed to parse the format option")
    return format_name == "msgpack"


def reply_msgpack(value: Any) -> Response:
    """Return msgpack."""
    return Response(msgpack.packb(value, use_bin_type=True), 200, {"Content-Type": "application/msgpack"})


def reply_in_format(value: Any) -> Response:
    """Return JSON, or msgpack if the query asks for it."""
    return reply_msgpack(value) if wants_msgpack() else reply(value)


def _slashes_of_echo(app: AsgiApp) -> AsgiApp:
    """Return the app behind echo's rules for slashes: one at the end is removed, two at the front are kept."""

    async def keep_slashes(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if path.startswith("//"):
            # The framework here removes them, and would then find the address.
            scope = {**scope, "path": f"/.{path}"}
        elif len(path) > 1 and path.endswith("/"):
            scope = {**scope, "path": path[:-1]}
        await app(scope, receive, send)

    return keep_slashes


def _token() -> str:
    header = request.headers.get(_HEADER, "")
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    return header or (bearer if scheme.lower() == "bearer" else "")


def _methods_of_path() -> set[str]:
    """Return the methods of the address that was called; none if it is not served."""
    fault = request.routing_exception
    if isinstance(fault, MethodNotAllowed):
        return set(fault.valid_methods or ())
    return set() if request.url_rule is None else set(request.url_rule.methods or ())


def _allow_header(methods: Iterable[str]) -> str:
    names = set(methods)
    return ", ".join(["OPTIONS", *(method for method in _METHODS if method in names)])


def _empty(status: int, methods: Iterable[str]) -> Response:
    answer = Response("", status, {"Allow": _allow_header(methods)} if methods else {})
    del answer.headers["Content-Type"]
    return answer


def _options(methods: set[str]) -> Response:
    answer = _empty(204, methods)
    if "Origin" in request.headers:
        answer.headers["Access-Control-Allow-Headers"] = _CORS_HEADERS
        answer.headers["Access-Control-Allow-Methods"] = _CORS_METHODS
        answer.headers["Vary"] = "Access-Control-Request-Headers"
    return answer


def _unreadable(name: str, function: str, text: str, why: str) -> Refused:
    parse = f'strconv.{function}: parsing "{text}": {why}'
    return Refused(400, f"Invalid format for parameter {name}: error binding string parameter: {parse}")
