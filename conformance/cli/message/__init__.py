"""`weldproof message`: verifies, explains and signs one HTTP message by RFC 9421, offline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from conformance.cli.message import text
from conformance.cli.message.keys import KeyOptions, choose_signing_key, choose_verifying_key
from conformance.cli.suggestion import SuggestingGroup
from conformance.cli.usage import UsageFault
from conformance.oracles.message_signatures import answer_members, digests, http_message_text, signing, structured
from conformance.oracles.message_signatures.algorithms import ALGORITHMS, VerifyingKey
from conformance.oracles.message_signatures.components import Component, read_component
from conformance.oracles.message_signatures.judgement import SKEW_SECONDS, Judgement, Policy, judge
from conformance.oracles.message_signatures.keys import did_key
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.notes import fix_notes
from conformance.outcome import Exit
from conformance.text.files import TooLarge, read_file
from conformance.text.json_safe import json_safe
from conformance.text.workflow_command_escaping import escape_commands_in_json

# Seconds between `created` and `expires` of a new signature, by default.
_LIFETIME = 300
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group("message", cls=SuggestingGroup)
def command() -> None:
    """Verify, explain and sign an HTTP message by RFC 9421 and RFC 9530, offline.

    FILE contains one raw HTTP/1.1 message, request or response, with CRLF or LF. The default is standard input.
    """


def _options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_message_options = _options(
    click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False, allow_dash=True)),
    click.option("--scheme", default="https", show_default=True, help="Scheme of the target URI."),
    click.option("--authority", help="Host and port that the client called (default: the Host field)."),
    click.option(
        "--related-request",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File with the request that a response answers, for components with `req`.",
    ),
)
_key_options = _options(
    click.option("--public-key-hex", help="Expected key: the 64 hex digits of an Ed25519 public key."),
    click.option("--did-key", help="Expected key: did:key:z6Mk…"),
    click.option(
        "--key-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Expected key: a file with PEM, a JWK, hex, a did:key or 32 raw bytes.",
    ),
    click.option(
        "--secret-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Shared secret of hmac-sha256, in base64 (or the environment variable WELDPROOF_HMAC_SECRET).",
    ),
)
_policy_options = _options(
    click.option("--label", help="Label of the signature, if the message has several."),
    click.option("--algorithm", type=click.Choice(ALGORITHMS), help="The algorithm, if the key fits several."),
    click.option(
        "--allow-algorithm",
        "allowed",
        multiple=True,
        type=click.Choice(ALGORITHMS),
        help="Accept only these algorithms.",
    ),
    click.option("--require", "required", multiple=True, metavar="COMPONENT", help="A component that must be covered."),
    click.option("--expect-tag", "tag", help="The tag that the signature must have."),
    click.option("--max-age", type=click.IntRange(0), help="Greatest age of `created` in seconds."),
    click.option(
        "--skew",
        type=click.IntRange(0),
        default=SKEW_SECONDS,
        show_default=True,
        help="Accepted clock difference in seconds.",
    ),
    click.option("--now", type=int, help="Time of the verification in Unix seconds (default: the clock)."),
    click.option(
        "--no-content-digest",
        is_flag=True,
        help="Do not require a covered Content-Digest. If one is present, it is verified.",
    ),
    click.option("--allow-empty", is_flag=True, help="Accept a signature that covers nothing."),
    click.option(
        "--strict", is_flag=True, help="Follow RFC 9421 alone: do not accept `created` or `expires` as covered names."
    ),
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")


@dataclass(frozen=True, slots=True)
class _Case:
    """A message with the notes of the parser, the expected key, and the judgement."""

    message: Message
    remarks: tuple[str, ...]
    key: VerifyingKey | None
    judgement: Judgement


@command.command("verify")
@_message_options
@_key_options
@_policy_options
@_json_option
@click.pass_context
def verify(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Verify the message under the key that you expect from the signer.

    Exit codes: 0 valid, 1 not valid, 2 usage.
    """
    case = _judge_message(options)
    if case.key is None:
        raise UsageFault(
            "no key: give --public-key-hex, --did-key, --key-file or --secret-file; `weldproof message explain` works "
            "without a key"
        )
    if as_json:
        _print(answer_members.verify_answer(case.judgement))
    else:
        text.show_verdict(case.judgement, case.remarks)
    ctx.exit(Exit.PASSED if case.judgement.is_valid else Exit.FAILED)


@command.command("explain")
@_message_options
@_key_options
@_policy_options
@_json_option
@click.pass_context
def explain(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Show the signature base, the covered components, the parameters and the digest, and what to correct.

    Without a key the signature is not verified. Exit codes: 0 valid, 1 not valid, 2 usage, 3 no key.
    """
    case = _judge_message(options)
    if as_json:
        _print(answer_members.explain_answer(case.message, case.key, case.judgement))
    else:
        text.show_explanation(case.judgement, case.remarks, fix_notes(case.message, case.key, case.judgement))
    # Without a key the message may be valid or not, which is no verdict (3).
    ctx.exit({True: Exit.PASSED, False: Exit.FAILED, None: Exit.NO_VERDICT}[case.judgement.is_valid])


@command.command("sign")
@_message_options
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Private key: PEM, JWK or the 32 bytes of an Ed25519 seed (or WELDPROOF_SIGNING_KEY with PEM or JWK). "
    "Without it a new key signs the message and is then deleted.",
)
@click.option(
    "--secret-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Shared secret of hmac-sha256, in base64 (or the environment variable WELDPROOF_HMAC_SECRET).",
)
@click.option("--algorithm", type=click.Choice(ALGORITHMS), help="The algorithm, if the key fits several.")
@click.option(
    "--component",
    "components",
    multiple=True,
    help='A component to cover, as @method or \'"@query-param";name="id"\'. '
    "Default: method, authority, path, query, digest.",
)
@click.option("--label", default="sig", show_default=True, help="Label of the signature.")
@click.option("--created", type=int, help="Unix seconds (default: the clock).")
@click.option("--expires", type=int, help=f"Unix seconds (default: created + {_LIFETIME}).")
@click.option("--keyid", help="Default: the did:key of an Ed25519 key; no key id for other keys.")
@click.option("--nonce", help="A nonce to sign as well.")
@click.option("--tag", help="A tag to sign as well.")
@click.option("--no-alg", is_flag=True, help="Omit the parameter alg.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write the message to.")
@_json_option
def sign(as_json: bool, output: Path | None, **options: Any) -> None:
    """Sign the message and print it. The signature base and the key for verification are printed on standard error.

    Adds Content-Digest if the message has content but no digest. Exit codes: 0 signed, 2 usage.
    """
    unsigned_message, _ = _read_message(options)
    # An ephemeral key shows how signing works. Its signature proves nothing, and the output says
    # so.
    key, ephemeral = choose_signing_key(options["key_file"], options["secret_file"])
    # The default components cover the digest, which must exist before they are chosen.
    message = signing.with_digest(unsigned_message)
    # A message with a wrong digest would be signed as it is, and every verifier would reject it.
    wrong = digests.compare(message, (), is_required=False).faults
    if wrong:
        raise UsageFault(f"{wrong[0].text}; remove the field, then this command adds a correct one")
    try:
        components = _components(options["components"]) or signing.default_components(message)
        algorithm = options["algorithm"] or key.algorithms[0]
        keyid = options["keyid"] or _did_of(key.public)
        parameters = _parameters(options, algorithm, keyid)
        signing_result = signing.sign(message, key, components, parameters, label=options["label"], algorithm=algorithm)
    except (signing.CannotSign, structured.Malformed) as fault:
        raise UsageFault(f"cannot sign: {fault}") from fault
    result_members = answer_members.sign_answer(signing_result, key, ephemeral=ephemeral)
    raw = (
        orjson.dumps(json_safe(result_members), option=orjson.OPT_INDENT_2) + b"\n"
        if as_json
        else http_message_text.write(signing_result.message)
    )
    _write_output(raw, output)
    if not as_json:
        text.show_signing(result_members)


def _judge_message(options: dict[str, Any]) -> _Case:
    message, remarks = _read_message(options)
    key = choose_verifying_key(
        KeyOptions(options["public_key_hex"], options["did_key"], options["key_file"], options["secret_file"])
    )
    policy = Policy(
        label=options["label"],
        algorithms=tuple(options["allowed"]) or None,
        algorithm=options["algorithm"],
        tag=options["tag"],
        max_age=options["max_age"],
        required_components=_components(options["required"]),
        require_digest=not options["no_content_digest"],
        skew=options["skew"],
        allow_empty=options["allow_empty"],
        parameters_as_components=not options["strict"],
    )
    now = int(time.time()) if options["now"] is None else options["now"]
    return _Case(message, remarks, key, judge(message, key, policy, now=now))


def _read_message(options: dict[str, Any]) -> tuple[Message, tuple[str, ...]]:
    related_path = options["related_request"]
    request = None if related_path is None else _parse_file(related_path, options).message
    parsed_message = _parse_file(options["file"], options, request)
    if request is not None and not parsed_message.message.is_response:
        raise UsageFault("--related-request is for a response; the message is a request")
    return parsed_message.message, parsed_message.remarks


def _parse_file(
    path: Path | None, options: dict[str, Any], request: Message | None = None
) -> http_message_text.ReadMessage:
    source = "standard input" if path is None or str(path) == "-" else str(path)
    try:
        data = read_file(path or Path("-"))
        parsed_message = http_message_text.read(
            data, scheme=options["scheme"], authority=options["authority"], request=request
        )
    except OSError as fault:
        raise UsageFault(f"{source}: {fault.strerror}") from fault
    except (http_message_text.NotHttp, TooLarge) as fault:
        raise UsageFault(f"{source}: {fault}") from fault
    return parsed_message


def _components(texts: Sequence[str]) -> tuple[Component, ...]:
    try:
        return tuple(read_component(text) for text in texts)
    except structured.Malformed as fault:
        raise UsageFault(f"a component is a name such as @method, or '\"name\";parameters': {fault}") from fault


def _did_of(key: VerifyingKey) -> str | None:
    ed25519 = isinstance(key.material, bytes) and key.algorithms == ("ed25519",)
    return did_key(key.material) if ed25519 and isinstance(key.material, bytes) else None


def _parameters(options: dict[str, Any], algorithm: str, keyid: str | None) -> dict[str, structured.BareItem]:
    """Return the signature parameters in the order of P-SG-03."""
    created = int(time.time()) if options["created"] is None else options["created"]
    expires = created + _LIFETIME if options["expires"] is None else options["expires"]
    texts = {
        "keyid": keyid,
        "alg": None if options["no_alg"] else algorithm,
        "nonce": options["nonce"],
        "tag": options["tag"],
    }
    return {"created": created, "expires": expires, **{name: text for name, text in texts.items() if text is not None}}


def _write_output(raw: bytes, output: Path | None) -> None:
    try:
        if output is None:
            click.echo(raw, nl=False)
        else:
            output.write_bytes(raw)
    except OSError as fault:
        raise UsageFault(f"--output {output}: {fault.strerror}") from fault


def _print(value: dict[str, Any]) -> None:
    click.echo(escape_commands_in_json(_encode(value)))


def _encode(value: dict[str, Any]) -> bytes:
    return orjson.dumps(json_safe(value), option=orjson.OPT_INDENT_2)
