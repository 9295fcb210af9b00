"""Input of `weldproof receipt`: the receipts, and the files from which hashes are recomputed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conformance.cli.usage import UsageFault
from conformance.oracles.json_acceptance import parse_json
from conformance.receipts.offline.reading import LARGEST, Found, NoReceipt, receipts_in
from conformance.vocabulary.networks import network_named

# The prefix of paid paths in the interface.
_PAID_PREFIX = "/pay/"
_REQUEST_MEMBERS = ("method", "path", "query", "service_id", "body", "raw_body")
_SETTLEMENT_MEMBERS = ("tx_id", "network", "payment_reference", "service")


@dataclass(frozen=True, slots=True)
class HashInputs:
    """The options from which hashes are recomputed, each None if absent."""

    request: Path | None
    response: Path | None
    payment_reference: Path | None
    settlement: str | None
    payer: str | None
    network: str | None
    service_word: str | None
    method: str | None
    path: str | None
    query: str | None
    service_id: str | None


def read_receipts(file: Path, at: str | None) -> list[Found]:
    """Return the receipts of the command's input.

    Raises:
        UsageFault: The file cannot be read, or contains no receipt.
    """
    try:
        return receipts_in(read_input(file, "FILE"), at)
    except NoReceipt as fault:
        raise UsageFault(f"{file}: {fault}") from fault


def read_input(path: Path, option: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`.

    Raises:
        UsageFault: The file cannot be read, or is too large.
    """
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
    except OSError as fault:
        raise UsageFault(f"{option} {path}: {fault.strerror}") from fault
    # One byte more was requested than is permitted.
    if len(data) > LARGEST:
        raise UsageFault(f"{option} {path}: larger than {LARGEST} bytes")
    return data


def read_hash_inputs(options: HashInputs) -> dict[str, Any]:
    """Return the inputs of the hashes, in the form that `receipt_bindings.bindings` takes.

    Raises:
        UsageFault: A file cannot be read, or an option lacks another one that it needs.
    """
    inputs: dict[str, Any] = {}
    if options.settlement is not None and options.settlement.startswith("@"):
        settlement = _read_settlement(Path(options.settlement[1:]))
        inputs |= {"payment_reference": settlement["payment_reference"]} if "payment_reference" in settlement else {}
        network, service = (
            options.network or settlement.get("network"),
            options.service_word or settlement.get("service"),
        )
        options = replace(options, settlement=settlement["tx_id"], network=network, service_word=service)
    if options.request is not None:
        inputs["request"] = _request(options)
    elif any((options.method, options.path, options.query, options.service_id)):
        raise UsageFault("--method, --path, --query and --service-id describe --request FILE; give it too")
    if options.response is not None:
        inputs["response"] = _response(options.response)
    key = _network(options)
    if options.settlement is not None:
        word = {"service": options.service_word} if options.service_word is not None else {}
        inputs["settlement"] = {"tx_id": options.settlement, "network": key, **word}
    elif options.service_word is not None:
        raise UsageFault("--service-word describes --settlement TX_ID; give it too")
    if options.payment_reference is not None:
        inputs["payment_reference"] = _text(options.payment_reference, "--payment-reference-file").strip()
    if options.payer is not None:
        inputs["payer"] = {"address": options.payer, "network": key}
    return inputs


def _network(options: HashInputs) -> str | None:
    """Return the key of the network that `--network` names in any spelling."""
    if options.settlement is None and options.payer is None:
        if options.network is not None:
            raise UsageFault("--network describes --settlement or --payer; give one of them")
        return None
    # A forger chooses the network in a receipt, so the verifier must name the real one.
    if options.network is None:
        raise UsageFault(
            "--settlement and --payer need --network KEY, such as base_mainnet; the network in the "
            "receipt is not trusted"
        )
    network = network_named(options.network)
    return network.key if network is not None else options.network


def _read_settlement(path: Path) -> dict[str, str]:
    """Return the members of a settlement file, as `weldproof pay --keep` writes it."""
    value = _json(path, "--settlement")
    members = {name: value[name] for name in _SETTLEMENT_MEMBERS if name in value} if isinstance(value, Mapping) else {}
    if "tx_id" not in members or not all(isinstance(text, str) for text in members.values()):
        raise UsageFault(
            f"--settlement @{path}: the file must contain a JSON object with the text member tx_id, and usually network"
        )
    return members


def _request(options: HashInputs) -> dict[str, Any]:
    path = options.request or Path()
    value = _json(path, "--request")
    if options.path is None:
        if not isinstance(value, Mapping) or not {"path", "body"} <= value.keys():
            raise UsageFault(
                f"--request {path}: the file must contain a JSON object with path and body; for the body alone, give "
                f"--path too"
            )
        request = {name: value[name] for name in _REQUEST_MEMBERS if value.get(name) is not None or name == "body"}
    else:
        # Recipes over the raw body need the bytes, and others the JSON value.
        request = {"body": value, "path": options.path, "raw_body": _text(path, "--request")}
    overrides = {"method": options.method, "query": options.query, "service_id": options.service_id}
    request |= {name: text for name, text in overrides.items() if text is not None}
    return {"method": "POST", **request, **_target(str(request["path"]), request.get("query"))}


def _target(text: str, query: Any) -> dict[str, Any]:
    """Return path and query of an address or a path, from /pay/ on, which is the part that P-RH-01 hashes."""
    try:
        parts = urlsplit(text)
    except ValueError as fault:
        raise UsageFault(f"--path {text}: {fault}") from fault
    if parts.query and query not in {None, parts.query}:
        raise UsageFault(f"--path {text} and --query contain different queries")
    before, marker, after = parts.path.partition(_PAID_PREFIX)
    # A rail may be served below a prefix, which its own hash does not contain.
    path = f"{marker}{after}" if marker and (parts.netloc or before) else parts.path
    return {"path": path, "query": parts.query if query is None else query}


def _response(path: Path) -> dict[str, Any]:
    value = _json(path, "--response")
    result = {"result": value["result"]} if isinstance(value, Mapping) and "result" in value else {}
    return {**result, "raw_body": _text(path, "--response")}


def _json(path: Path, option: str) -> Any:
    try:
        return parse_json(read_input(path, option), duplicates=False)
    except ValueError as fault:
        raise UsageFault(f"{option} {path}: not JSON: {fault}") from fault


def _text(path: Path, option: str) -> str:
    try:
        return read_input(path, option).decode("utf-8")
    except UnicodeDecodeError as fault:
        raise UsageFault(f"{option} {path}: not UTF-8: {fault.reason}") from fault
