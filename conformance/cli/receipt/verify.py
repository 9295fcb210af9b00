"""`weldproof receipt verify`: verifies a receipt under a chosen key, its issuer, and its hashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from conformance.cli.receipt import text
from conformance.cli.receipt.input import HashInputs, read_hash_inputs, read_input, read_receipts
from conformance.cli.receipt.output import print_json, write_page
from conformance.cli.usage import UsageFault
from conformance.oracles.ed25519_keys import KeyFault
from conformance.outcome import Exit
from conformance.receipts.offline import key_sources
from conformance.receipts.offline.did_web import document_url
from conformance.receipts.offline.fetching import AddressRefused, NotFetched, fetch_document
from conformance.receipts.offline.inspecting import Inspection, inspect
from conformance.receipts.offline.key_sources import KeySet
from conformance.receipts.offline.verifying import verify_all
from conformance.text.target_text_escaping import one_line

_FILE = click.Path(path_type=Path, dir_okay=False)


class _KeysUnavailable(Exception):
    """The keys could not be loaded; the text contains the reason."""


@click.command("verify")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option("--at", metavar="PLACE", help="Take the receipt only from this place, such as receipt.jws.")
@click.option("--jwks", metavar="FILE|URL", help="Key: the issuer's key set.")
@click.option("--did", metavar="DID", help="Key: did:web:HOST, whose document is fetched, or did:key:z6Mk…")
@click.option("--did-document", type=_FILE, help="Key: a DID document in a file.")
@click.option("--key-hex", metavar="HEX", help="Key: the 64 hex digits of an Ed25519 public key.")
@click.option("--key-file", type=_FILE, help="Key: a file with PEM, a JWK, hex, base64url, a did:key or 32 raw bytes.")
@click.option("--expected-payment-hash", metavar="HASH", help="The settled payment that the receipt must name.")
@click.option(
    "--request",
    type=_FILE,
    help="Recompute request_hash: JSON with method, path, query, service_id, body; or, with --path, a body as sent.",
)
@click.option("--method", metavar="METHOD", help="Method of that request (default: POST).")
@click.option("--path", metavar="PATH|URL", help="Path or address of that request.")
@click.option("--query", metavar="QUERY", help="Raw query of that request, without ?.")
@click.option("--service-id", metavar="ID", help="Service that was called (default: service_id in the receipt).")
@click.option("--response", type=_FILE, help="Recompute response_hash: the body of the 200 answer, or {result}.")
@click.option(
    "--settlement",
    metavar="TX_ID|@FILE",
    help="Recompute settled_payment_ref, with --network; or @FILE as `weldproof pay --keep` writes it.",
)
@click.option("--payer", metavar="ADDRESS", help="Recompute payer_ref, with --network.")
@click.option("--network", metavar="KEY", help="Network of --settlement and --payer, such as base_mainnet.")
@click.option("--service-word", metavar="WORD", help="Service word of --settlement (default: that of the kind).")
@click.option(
    "--payment-reference-file", "payment_reference", type=_FILE, help="Recompute payment_reference_hash: the token."
)
@click.option(
    "--any-recipe", is_flag=True, help="Also accept a hash that follows another common recipe than the profile's."
)
@click.option("--html", "page", type=_FILE, help="Write an HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: Path,
    at: str | None,
    jwks: str | None,
    did: str | None,
    did_document: Path | None,
    key_hex: str | None,
    key_file: Path | None,
    expected_payment_hash: str | None,
    any_recipe: bool,
    page: Path | None,
    as_json: bool,
    **hash_options: Any,
) -> None:
    """Verify receipts by nine steps under a key that you choose; then verify their issuer and their hashes.

    FILE contains a compact JWS, or a JSON document with receipts; - is standard input. Give the key by one of --jwks,
    --did, --did-document, --key-hex, --key-file. A key or issuer named in the receipt is never trusted. Only --did with
    did:web and --jwks with a URL use the network.

    Exit codes: 0 every requested test passes, 1 a test fails, 2 usage, 3 the keys could not be loaded.
    """
    found = read_receipts(file, at)
    inspections = [inspect(one) for one in found]
    hash_inputs = read_hash_inputs(HashInputs(**hash_options))
    sources = {"jwks": jwks, "did": did, "did_document": did_document, "key_hex": key_hex, "key_file": key_file}
    try:
        keys = _load_keys(sources, inspections)
    except _KeysUnavailable as fault:
        click.echo(f"weldproof receipt verify: {one_line(str(fault), 1000)}", err=True)
        ctx.exit(Exit.NO_VERDICT)
    verifications = verify_all(
        found, keys, hash_inputs, expected_payment_hash=expected_payment_hash, any_recipe=any_recipe
    )
    if page is not None:
        from conformance.receipts.offline.page import verification_page  # noqa: PLC0415 - templates take time

        write_page(page, verification_page(inspections, verifications))
    all_verified = all(one.is_verified for one in verifications)
    if as_json:
        print_json({"verified": all_verified, "receipts": [one.as_json() for one in verifications]})
    else:
        text.show_verifications(inspections, verifications)
    ctx.exit(Exit.PASSED if all_verified else Exit.FAILED)


def _load_keys(sources: Mapping[str, Any], inspections: Sequence[Inspection]) -> KeySet:
    """Return the keys that one option names.

    Raises:
        UsageFault: No option or several options name keys, or a file contains none.
        _KeysUnavailable: The keys could not be fetched.
    """
    source_names = [name for name, value in sources.items() if value is not None]
    if not source_names:
        raise UsageFault(_describe_missing_key(inspections))
    if len(source_names) > 1:
        several = " and ".join(f"--{name.replace('_', '-')}" for name in source_names)
        raise UsageFault(f"{several} are alternatives; give only the key that you trust")
    value = sources[source_names[0]]
    if source_names[0] == "did":
        _check_did(value)
        return _load_remote(lambda: key_sources.of_did(value))
    if source_names[0] == "jwks" and value.startswith(("http://", "https://")):
        return _load_remote(lambda: key_sources.of_jwks(fetch_document(value), f"the key set at {value}"))
    return _load_local(source_names[0], value)


def _check_did(did: str) -> None:
    """Reject an unsupported or malformed DID before any request is sent."""
    if not did.startswith(("did:web:", "did:key:")):
        raise UsageFault(f"--did {one_line(did)}: only did:web:HOST and did:key:z6Mk… are supported")
    try:
        if did.startswith("did:key:"):
            key_sources.of_did(did)
        else:
            document_url(did)
    except KeyFault as fault:
        raise UsageFault(f"--did {one_line(did)}: {fault}") from fault


def _load_remote(read_keys: Callable[[], KeySet]) -> KeySet:
    try:
        return read_keys()
    except AddressRefused as fault:
        raise UsageFault(str(fault)) from fault
    except (NotFetched, KeyFault) as fault:
        raise _KeysUnavailable(str(fault)) from fault


def _load_local(name: str, value: Any) -> KeySet:
    option = f"--{name.replace('_', '-')}"
    try:
        if name == "key_hex":
            return key_sources.of_hex(value)
        data = read_input(Path(value), option)
        if name == "jwks":
            return key_sources.of_jwks(data, f"the key set in {value}")
        if name == "did_document":
            return key_sources.of_did_document(data, f"the DID document in {value}")
        # The option accepts several formats, so the content decides.
        return key_sources.of_key(data, f"the key in {value}")
    except KeyFault as fault:
        raise UsageFault(f"{option} {value}: {fault}" if name != "key_hex" else f"{option}: {fault}") from fault


def _describe_missing_key(inspections: Sequence[Inspection]) -> str:
    """Return the message that a key is needed, with the issuer that the receipt claims."""
    # The issuer in a receipt is unverified. Fetching its key automatically would let a forger
    # choose the key, so the command only shows the name.
    claimed_issuers = list(dict.fromkeys(str(did) for one in inspections for did in one.dids.values()))
    if not claimed_issuers:
        issuer_sentence = "The receipt names no issuer."
    else:
        issuers = one_line(" and ".join(claimed_issuers))
        issuer_sentence = f"The receipt says that it is from {issuers}, which any receipt could claim."
    return (
        f"no key: give --jwks, --did, --did-document, --key-hex or --key-file. {issuer_sentence} "
        "If you trust that issuer, give --did"
    )
