"""Mutants of the control plane's trust set: what is taken, kept, given away, and published (7.1, 7.2)."""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from sqlalchemy import bindparam, delete

from reference.control_plane import issuers
from reference.control_plane.calls import Call, Operation
from reference.control_plane.issuers import IssuerRegister, NewIssuer, TrustDocuments
from reference.store.audit import Audit
from reference.store.database import Change
from reference.store.issuers import Issuer, Issuers
from reference.store.trust_tables import issuers as table
from reference.variants.mutants.control_plane_access import Answer, headed, hub_mutant, retold
from reference.variants.seams import replace
from reference.web.errors import Refused, Unprocessable
from reference.web.exchange import Reply

LENGTH = 1793


def _published(change: Callable[[str, str], tuple[str, Any]]) -> Callable[[], None]:
    """Return what changes each member of the trust set as it is published."""
    return retold(TrustDocuments, "trust_set", lambda told: dict(change(did, key) for did, key in told.items()))


def _cut(key: str) -> str:
    return base64.b64encode(base64.b64decode(key)[:-1]).decode()


def _twice() -> None:
    """Name an issuer twice once it was rotated, with the old key and the new one."""
    old: dict[str, str] = {}

    def rotating(rotation: Callable[..., Change]) -> Callable[..., Change]:
        def rotated(self: Issuers, issuer: Issuer) -> Change:
            old[issuer.did] = old.get(issuer.did + "#now", "")
            return rotation(self, issuer)

        return rotated

    def showing(show: Answer) -> Answer:
        async def shown(self: TrustDocuments, call: Call) -> Reply:
            reply = await show(self, call)
            told: dict[str, str] = orjson.loads(reply.body) if reply.status == 200 else {}
            pairs = [*told.items()] + [(did, old[did]) for did in told if old.get(did)]
            old.update({did + "#now": key for did, key in told.items()})
            written = ",".join(f"{orjson.dumps(did).decode()}:{orjson.dumps(key).decode()}" for did, key in pairs)
            return dataclasses.replace(reply, body=f"{{{written}}}".encode()) if told else reply

        return shown

    replace(Issuers, "rotation", rotating)
    replace(TrustDocuments, "trust_set", showing)


def _made_once() -> None:
    """Publish the key document as it was made first."""
    kept: list[Reply] = []

    def showing(show: Answer) -> Answer:
        async def shown(self: TrustDocuments, call: Call) -> Reply:
            kept.append(await show(self, call))
            return kept[0]

        return shown

    replace(TrustDocuments, "keys", showing)


def _revoked_kept() -> None:
    """Go on publishing keys of revoked issuers in the key document."""
    known: dict[str, Any] = {}

    def with_all(told: dict[str, Any]) -> dict[str, Any]:
        known.update({one["did"]: one for one in told["keys"]})
        return {**told, "keys": list(known.values())}

    retold(TrustDocuments, "keys", with_all)()


def _keys(change: Callable[[list[Any]], list[Any]]) -> Callable[[], None]:
    return retold(TrustDocuments, "keys", lambda told: {**told, "keys": change(told["keys"])})


def _other_key(keys: list[Any]) -> list[Any]:
    zeros = base64.b64encode(b"\x0a" + bytes(1792)).decode()
    return [{**one, "public_key_b64": zeros, "public_key_pqclean_b64": zeros} for one in keys]


# --- what is written


def _stored(change: Callable[[Issuer], Issuer]) -> Callable[[], None]:
    """Return what stores another issuer than was sent."""

    def inserting(insertion: Callable[..., Change]) -> Callable[..., Change]:
        return lambda self, issuer: insertion(self, change(issuer))

    return lambda: replace(Issuers, "insertion", inserting)


def _nothing_done(name: str) -> Callable[[], None]:
    """Return what answers and logs a change of trust without making it."""

    def changing(change: Callable[..., Any]) -> Callable[..., Any]:
        async def changed(self: Audit, decide: Callable[..., Any]) -> Any:
            async def emptied(head: Any) -> Any:
                outcome, step = await decide(head)
                idle = step is not None and step.entry.action == name
                return outcome, dataclasses.replace(step, changes=()) if idle else step

            return await change(self, emptied)

        return changed

    return lambda: replace(Audit, "change", changing)


def _all_revoked() -> None:
    """Revoke everybody at once."""

    def revoking(_: Callable[..., Change]) -> Callable[..., Change]:
        return lambda _self, _did: Change(delete(table))

    replace(Issuers, "revocation", revoking)


def _prefix_revoked() -> None:
    """Take a part of a DID for it."""

    def getting(get: Callable[..., Any]) -> Callable[..., Any]:
        async def got(self: Issuers, did: str) -> Issuer | None:
            found: Issuer | None = await get(self, did)
            return found or next((one for one in await self.all() if one.did.startswith(did)), None)

        return got

    def revoking(_: Callable[..., Change]) -> Callable[..., Change]:
        begun = delete(table).where(table.c.did.startswith(bindparam("begun")))
        return lambda _self, did: Change(begun, {"begun": did})

    replace(Issuers, "get", getting)
    replace(Issuers, "revocation", revoking)


def _meant(change: Callable[[Sequence[str]], Sequence[str]]) -> Callable[[], None]:
    return lambda: replace(issuers, "meant_by", lambda meant: lambda segment: change(meant(segment)))


def _decoded_twice(texts: Sequence[str]) -> Sequence[str]:
    return [text.replace("%3A", ":") for text in texts]


def _unknown_is_500() -> None:
    def revoking(revoke: Answer) -> Answer:
        async def revoked(self: IssuerRegister, call: Call) -> Reply:
            try:
                return await revoke(self, call)
            except Refused as refusal:
                raise RuntimeError("no such issuer") from refusal

        return revoked

    replace(IssuerRegister, "revoke", revoking)


# --- what is taken


def _any_key(read: Callable[[object], bytes]) -> Callable[[], None]:
    """Return what reads keys in another way; what it returns has the form of a key."""

    def apply() -> None:
        replace(issuers, "public_key_of", lambda _: read)
        replace(issuers, "falcon_kid", lambda kid: lambda raw: kid(b"\x0a" + raw.ljust(LENGTH, b"\0")[1:LENGTH]))

    return apply


def _discarding(text: object) -> bytes:
    if not isinstance(text, str):
        raise ValueError("no text")  # noqa: TRY004 - a fault of the content
    return base64.b64decode(text + "==")  # what is of no alphabet is dropped


def _any_length(text: object) -> bytes:
    if not isinstance(text, str):
        raise ValueError("no text")  # noqa: TRY004 - a fault of the content
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as fault:
        raise ValueError("no base64") from fault


def _optional(member: str, value: str) -> Callable[[], None]:
    """Return what takes a body without a member, for which it has a value of its own."""

    def made(initialise: Callable[..., None]) -> Callable[..., None]:
        def initialised(self: Operation, *arguments: Any, **named: Any) -> None:
            if named.get("reads") is NewIssuer:
                named["reads"] = _Filled
            initialise(self, *arguments, **named)

        return initialised

    class _Filled(NewIssuer):
        @classmethod
        def model_validate(cls, obj: Any, **_: Any) -> NewIssuer:  # type: ignore[override]
            return NewIssuer.model_validate({member: value, **obj} if isinstance(obj, dict) else obj)

    return lambda: replace(Operation, "__init__", made)


def _stored_though_refused() -> None:
    """Store an issuer whose key has another length, and refuse it then."""

    def registering(register: Answer) -> Answer:
        async def registered(self: IssuerRegister, call: Call) -> Reply:
            reply = await register(self, call)
            if len(_any_length(call.content.public_key_b64)) != LENGTH:
                raise Unprocessable([{"loc": ["body"], "msg": "no key", "type": "value_error"}])
            return reply

        return registered

    _any_key(_any_length)()
    replace(IssuerRegister, "register", registering)


_ZEROS = base64.b64encode(b"\x0a" + bytes(1792)).decode()
MUTANTS = (
    hub_mutant(
        "pks-list",
        "the trust set is {did: key} (7.1)",
        retold(TrustDocuments, "trust_set", lambda told: [{"did": did, "key": key} for did, key in told.items()]),
    ),
    hub_mutant(
        "pks-html", "the trust set is JSON (7.1)", headed(TrustDocuments, "trust_set", Content_Type="text/html")
    ),
    hub_mutant("pks-nested", "values are texts (7.1)", _published(lambda did, key: (did, {"public_key_b64": key}))),
    hub_mutant("pks-tagged", "keys are base64 (7.1)", _published(lambda did, key: (did, f"falcon1024:{key}"))),
    hub_mutant("pks-hosts", "names are DIDs (7.1)", _published(lambda did, key: (did.removeprefix("did:web:"), key))),
    hub_mutant("pks-short", "keys are told whole (7.2)", _published(lambda did, key: (did, _cut(key)))),
    hub_mutant("atb-html", "atb-keys.json is JSON (7.1)", headed(TrustDocuments, "keys", Content_Type="text/html")),
    hub_mutant("atb-made-once", "atb-keys.json follows the trust set (7.1)", _made_once),
    hub_mutant("atb-revoked-kept", "atb-keys.json follows revocation (7.1)", _revoked_kept),
    hub_mutant("atb-other-key", "atb-keys.json has the same keys (7.1)", _keys(_other_key)),
    hub_mutant("atb-first-only", "atb-keys.json has every issuer (7.1)", _keys(lambda keys: keys[:1])),
    hub_mutant("register-nothing", "a registered issuer is trusted (7.1)", _nothing_done("issuer.registered")),
    hub_mutant(
        "register-other-key",
        "the key is kept as it was sent (7.2)",
        _stored(lambda issuer: dataclasses.replace(issuer, public_key_b64=_ZEROS)),
    ),
    hub_mutant(
        "register-lower",
        "the DID is kept as it was sent (7.2)",
        _stored(lambda issuer: dataclasses.replace(issuer, did=issuer.did.lower().replace("%3a", ":"))),
    ),
    hub_mutant("revoke-nothing", "a revoked issuer is gone (7.1)", _nothing_done("issuer.revoked")),
    hub_mutant("revoke-all", "one issuer is revoked (7.1)", _all_revoked),
    hub_mutant("revoke-by-beginning", "a DID is meant whole (P-CP-02)", _prefix_revoked),
    hub_mutant("revoke-decoded-twice", "a DID is decoded once (P-CP-02)", _meant(_decoded_twice)),
    hub_mutant("revoke-decoded-only", "the raw DID is looked up, too (P-CP-02)", _meant(lambda texts: texts[:1])),
    hub_mutant("revoke-unknown-500", "an unknown DID is 404 (7.1)", _unknown_is_500),
    hub_mutant("did-optional", "did is required (7.1)", _optional("did", "did:web:nobody.example")),
    hub_mutant("key-optional", "public_key_b64 is required (7.1)", _optional("public_key_b64", _ZEROS)),
    hub_mutant("key-no-base64", "keys are base64 (P-CP-01)", _any_key(_discarding)),
    hub_mutant("key-any-length", "keys have 1793 bytes (P-CP-01)", _any_key(_any_length)),
    hub_mutant("refused-but-stored", "what is refused is not stored (P-CP-01)", _stored_though_refused),
    hub_mutant("rotation-ignored", "the new key replaces the old one (P-CP-03)", _nothing_done("issuer.rotated")),
    hub_mutant("two-keys", "one key a DID (P-CP-03)", _twice),
)
