"""Installation of the control plane's variant: requests, stored records, health polls and key documents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import orjson

from reference.control_plane import app, runtime, service_health
from reference.control_plane.call_context import Call, Operation
from reference.control_plane.health_client import HealthResult
from reference.control_plane.issuer_registration import IssuerRegister, NewIssuer
from reference.control_plane.service_health import HealthBoard, HealthReading
from reference.control_plane.service_registration import NewService
from reference.protocol.falcon import public_key_of
from reference.protocol.issuer_key_documents import ATB_KEYS, PQC_KEYS, TRUST_SET
from reference.protocol.keys import falcon_kid
from reference.protocol.trust_set import meant_by
from reference.store.services import Service
from reference.variants.chameleon import hub_audit_variants
from reference.variants.chameleon.answer_rewriter import Answer
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace
from reference.web.errors import Refused

_NOT_YET = HealthResult(None, None, "not_asked_yet")
# Records of keys that were revoked by this process.
_REVOKED_KEYS: list[dict[str, Any]] = []


def install(shape: Shape) -> None:
    """Install the variant of the control plane's behaviour."""
    hub_audit_variants.install(shape)
    replace(service_health, "_describe_service", _with_address)
    if shape.hub_service_request != "base_url":
        replace(app, "read_body", lambda read: lambda model, body: read(model, _own(model, body, shape)))
    if "409" in {shape.hub_known_issuer, shape.hub_other_key}:
        replace(IssuerRegister, "register", lambda register: _wrap_register(register, shape))
    if not shape.hub_service_removal:
        replace(runtime, "list_operations", _without_removal)
    if shape.hub_polls == "in rounds":
        replace(HealthBoard, "look", lambda _: _look_in_rounds)
    if shape.hub_keys == "revoked":
        replace(IssuerRegister, "revoke", _wrap_revoke)


def _with_address(show: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def shown_with_address(service: Service, observation: HealthReading, **_: Any) -> dict[str, Any]:
        return show(service, observation, with_address=True)

    return shown_with_address


# Registering a service.


def _own(model: type[Any], body: bytes, shape: Shape) -> bytes:
    """Return a registration in the control plane's form; an invalid body is returned unchanged and refused later."""
    if model is not NewService:
        return body
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    return orjson.dumps(own_record(record, shape)) if isinstance(record, dict) else body


def own_record(record: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a registration under the service's names."""
    if shape.hub_service_request == "url":
        return _drop_absent({"name": record.get("name"), "base_url": record.get("url")})
    if shape.hub_service_request == "health_url":
        base, path = _cut(record.get("health_url"))
        return _drop_absent({"name": record.get("service"), "base_url": base, "health_path": path})
    member = _object(record.get("member"))
    reach = _object(member.get("reach"))
    return _drop_absent({"name": member.get("label"), "base_url": reach.get("at"), "health_path": reach.get("probe")})


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _drop_absent(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _cut(url: Any) -> tuple[Any, Any]:
    """Return base and path of an address; an invalid address is returned whole."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        parts = None
    if parts is None or not parts.path:
        return url, None
    return f"{parts.scheme}://{parts.netloc}", url.removeprefix(f"{parts.scheme}://{parts.netloc}")


def _without_removal(operations: Callable[..., Sequence[Operation]]) -> Callable[..., Sequence[Operation]]:
    def list_without_removal(*parts: Any) -> Sequence[Operation]:
        return [one for one in operations(*parts) if one.path != "/v1/services/"]

    return list_without_removal


# Issuers.


def _wrap_register(register: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    async def register_once(self: IssuerRegister, call: Call) -> Any:
        request: NewIssuer = call.content
        known_issuer = await self._issuers.get(request.did)
        if known_issuer is not None:
            # CP-ISSUER-09 leaves open what a second key of an issuer does. A 409 keeps the first key until it is
            # revoked.
            alike = known_issuer.public_key_b64 == request.public_key_b64
            if (shape.hub_known_issuer if alike else shape.hub_other_key) == "409":
                raise Refused(409, "conflict", "This issuer is there already")
        return await register(self, call)

    return register_once


def _wrap_revoke(revoke: Callable[..., Any]) -> Callable[..., Any]:
    async def revoke_and_keep(self: IssuerRegister, call: Call) -> Any:
        before = {one.did: one for one in await self._issuers.list_all()}
        answer = await revoke(self, call)
        remaining_dids = {one.did for one in await self._issuers.list_all()}
        for did in meant_by(call.segment):
            if did in before and did not in remaining_dids:
                key = before[did].public_key_b64
                kid = falcon_kid(public_key_of(key))
                _REVOKED_KEYS.append(
                    {"did": did, "kid": kid, "alg": "Falcon-1024", "public_key_b64": key, "status": "revoked"}
                )
        return answer

    return revoke_and_keep


# Posture.


async def _look_in_rounds(self: HealthBoard, addresses: Sequence[str]) -> Mapping[str, HealthReading]:
    """Return the results of the last round of health polls, and start the next round."""
    last: dict[str, HealthReading] = self.__dict__.setdefault("_of_the_last_round", {})
    # In the first round nothing was asked yet, so each service is reported as not asked. A posture that is read at
    # once must not wait for the polls.
    observations = {address: last.get(address, HealthReading(_NOT_YET, self._clock.now())) for address in addresses}
    for address in observations:
        if address not in self._running:
            self._start_task(address).add_done_callback(partial(_note_result, last, address))
    await asyncio.sleep(0)
    return observations


def _note_result(last: dict[str, HealthReading], address: str, task: asyncio.Task[HealthReading]) -> None:
    if not task.cancelled() and task.exception() is None:
        last[address] = task.result()


# Documents.


def edit(answer: Answer, shape: Shape) -> None:
    """Change the key documents, and the tags of all documents."""
    path, document = answer.request.path, answer.document
    if path in {ATB_KEYS, PQC_KEYS} and answer.status == 200 and isinstance(document, dict):
        answer.document = _keys(document, shape)
    tag = answer.header("ETag")
    if tag is not None and path in {ATB_KEYS, PQC_KEYS, TRUST_SET, shape.hub_openapi_path}:
        tags: Mapping[str, str | None] = {"strong": tag, "weak": f"W/{tag.removeprefix('W/')}", "none": None}
        answer.set_header("ETag", tags[shape.hub_tags])


def _keys(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    few = ("did", "kid", "alg", "public_key_b64", "status")
    if shape.hub_keys == "few":
        return {"keys": [{name: one[name] for name in few} for one in document["keys"]]}
    if shape.hub_keys == "more":
        keys = [{**one, "controller": one["did"], "valid_from": document["updated_at"]} for one in document["keys"]]
        return {"@context": ["https://www.w3.org/ns/did/v1"], **document, "keys": keys, "next": None}
    return {**document, "keys": [*document["keys"], *_REVOKED_KEYS]} if shape.hub_keys == "revoked" else document
