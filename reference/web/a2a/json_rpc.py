"""JSON-RPC 2.0 over HTTP: one request for each call, each answer HTTP 200 with JSON (P-RA-04)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from reference.protocol.a2a import SENTENCES, ErrorCode, refusal_of
from reference.protocol.canonical_json import MAX_INTEGER, NotCanonical, NotJson, canonicalise, parse, whole_numbers
from reference.web.errors import Refused
from reference.web.http.exchange import JSON, Reply, Request
from reference.web.logs import get_logger

_log = get_logger()
_LONGEST_NAME = 100
_MOST_FAULTS = 20

Params: TypeAlias = Mapping[str, Any]
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Method:
    """One method.

    Attributes:
        params: The form of its params.
        call: From params and HTTP request to what JSON can hold. It raises `RpcError`; headers for the answer it puts
            into the request's `answer_headers`.
    """

    params: type[BaseModel]
    call: Callable[[Params, Request], Awaitable[Any]]


@dataclass(eq=False)
class RpcError(Exception):
    """A call that ends in an error object.

    Attributes:
        code: JSON-RPC or A2A error code.
        message: What is wrong, for people; left out, the code's own sentence.
        data: Further information, or None for none.
    """

    code: ErrorCode
    message: str = ""
    data: Any = None

    def wire(self) -> dict[str, Any]:
        """Return the error object."""
        error = {"code": int(self.code), "message": self.message or SENTENCES[self.code]}
        return error if self.data is None else {**error, "data": self.data}


@dataclass(frozen=True, slots=True)
class JsonRpcServer:
    """Calls methods by their names.

    Attributes:
        methods: The methods, by name.
        passed_faults: Faults of methods that are answers of HTTP itself.
    """

    methods: Mapping[str, Method]
    passed_faults: tuple[type[Exception], ...] = (Refused,)

    async def answer(self, request: Request) -> Reply:
        """Answer one HTTP request.

        Raises:
            Exception: What a method raised that is in `passed_faults`.
        """
        identity: str | int | None = None
        try:
            envelope = _envelope(request.body)
            identity = _identity(envelope)
            body = _answer(identity, "result", await self._call_method(envelope, request))
        except RpcError as error:
            body = _answer(identity, "error", error.wire())
        # 429 and 503 stay answers of HTTP, because proxies and retry loops understand them there (decision 0024).
        except self.passed_faults:
            raise
        except Exception as fault:  # noqa: BLE001 - an unexpected fault is an error object here, not a broken answer
            _log.error("unplanned_fault", kind=type(fault).__name__, exc_info=True)
            body = _answer(identity, "error", RpcError(ErrorCode.INTERNAL_ERROR).wire())
        return Reply(200, body, {"Content-Type": JSON, **request.answer_headers})

    async def _call_method(self, envelope: Mapping[str, Any], request: Request) -> Any:
        # A name without a canonical form, such as a lone surrogate, could not be repeated in the answer.
        name = envelope.get("method")
        if envelope.get("jsonrpc") != "2.0" or not isinstance(name, str) or not _is_representable(name):
            raise RpcError(ErrorCode.INVALID_REQUEST)
        method = self.methods.get(name)
        if method is None:
            # A2A methods that this server lacks have their own error codes, unknown ones -32601.
            raise _not_served(name)
        params = envelope.get("params", {})
        if not isinstance(params, dict):
            raise build_invalid_params("params", "params are an object of members by name", "object")
        if not _is_representable(params):
            raise build_invalid_params("params", "keep integers within 2^53 - 1 and text in Unicode", "not_canonical")
        # There are no notifications (decision 0024). The params are read first, so that a client learns of its other
        # fault.
        if "id" not in envelope:
            read_params(method.params, params)
            raise RpcError(ErrorCode.INVALID_REQUEST)
        return await method.call(params, request)


def read_params(model: type[Model], params: Params) -> Model:
    """Return the params as a method's model.

    Raises:
        RpcError: They do not fit it; `data` lists where, each with `loc`, `msg` and `type`, without what was sent.
    """
    try:
        return model.model_validate(whole_numbers(params))
    except ValidationError as fault:
        faults = fault.errors(include_url=False, include_context=False, include_input=False)[:_MOST_FAULTS]
        raise RpcError(
            ErrorCode.INVALID_PARAMS,
            data=[{"loc": ["params", *one["loc"]], "msg": one["msg"], "type": one["type"]} for one in faults],
        ) from fault


def build_invalid_params(place: str, sentence: str, kind: str) -> RpcError:
    """Return the error of params with one fault; `data` has the form of a 422's `detail`."""
    return RpcError(ErrorCode.INVALID_PARAMS, sentence, [{"loc": [place], "msg": sentence, "type": kind}])


def _answer(identity: str | int | None, member: str, value: Any) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": identity, member: value})


def _envelope(body: bytes) -> dict[str, Any]:
    try:
        value = parse(body)
    except NotJson as fault:
        raise RpcError(ErrorCode.PARSE_ERROR, f"the body is not JSON: {fault}") from fault
    if not isinstance(value, dict):
        # Also a batch: A2A has none.
        raise RpcError(ErrorCode.INVALID_REQUEST)
    return value


def _identity(envelope: Mapping[str, Any]) -> str | int | None:
    """Return the id, or None if it is absent: then other faults are reported first (P-RA-04).

    A call without an id does nothing, because this server has no notifications.
    """
    if "id" not in envelope:
        return None
    identity = envelope["id"]
    if isinstance(identity, str) and _is_representable(identity):
        return identity
    # Not isinstance, since a bool is an int in Python. Beyond 2^53 - 1 other JSON readers would change the id.
    if type(identity) is int and abs(identity) <= MAX_INTEGER:
        return identity
    raise RpcError(ErrorCode.INVALID_REQUEST)


def _not_served(name: str) -> RpcError:
    code = refusal_of(name)
    if code is ErrorCode.METHOD_NOT_FOUND:
        return RpcError(code, f"method not found: {name[:_LONGEST_NAME]}")
    return RpcError(code)


def _is_representable(value: Any) -> bool:
    try:
        canonicalise(value)
    except NotCanonical:
        return False
    return True
