"""`weldproof message`: what it says of messages, how it ends, and what it never shows."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from conformance.cli import main
from conformance.oracles.message_signatures import http_message_text
from conformance.oracles.message_signatures.verify_request_members import message_of
from conformance.vectors import MessageVector, message_signatures
from conformance.vectors.judges.message_signatures import NOW as LATER
from tests.conformance.vectors.on_the_wire import fits_http

SEED = bytes(range(32))
KEY = ed25519.Ed25519PrivateKey.from_private_bytes(SEED)
HEX = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
DID = "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"
PLAIN = b'POST /orders?id=7 HTTP/1.1\nHost: API.example.org:443\nContent-Type: application/json\n\n{"a":1}'
B26 = next(one for one in message_signatures() if "b.2.6" in one.id)
NOW = ("--now", "1700000000")
CREATED_OPTION = ("--created", "1700000000")


def run_command(*words: object, stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
    """Run the command; only its own ending is allowed to end it."""
    result = CliRunner().invoke(main, ["message", *(str(word) for word in words)], input=stdin, env=env or {})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with the worked example's key in PEM and as a seed, and the message as a file."""
    pem = serialization.Encoding.PEM
    form, no_encryption = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (tmp_path / "private.pem").write_bytes(KEY.private_bytes(pem, form, no_encryption))
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "public.pem").write_bytes(KEY.public_key().public_bytes(pem, spki))
    (tmp_path / "seed").write_bytes(SEED)
    (tmp_path / "rsa.pem").write_bytes(rsa.generate_private_key(65537, 2048).private_bytes(pem, form, no_encryption))
    (tmp_path / "ec.pem").write_bytes(ec.derive_private_key(5, ec.SECP384R1()).private_bytes(pem, form, no_encryption))
    (tmp_path / "secret").write_bytes(b"c2VjcmV0\n")
    (tmp_path / "plain.http").write_bytes(PLAIN)
    return tmp_path


def sign_message(keys: Path, *more: object, key: str = "private.pem") -> bytes:
    result = run_command("sign", keys / "plain.http", "--key-file", keys / key, *CREATED_OPTION, *more)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def test_the_example_of_the_rfc_is_valid_and_a_changed_one_is_not() -> None:
    """B.2.6 by its key; exit codes 0 and 1; the code and its step are named."""
    raw = http_message_text.write(message_of(B26.message))
    key = ("--public-key-hex", B26.key["public_key_hex"], "--no-content-digest")
    good = run_command("verify", *key, stdin=raw)
    assert (good.exit_code, good.output.splitlines()[0]) == (0, "valid  sig-b26, ed25519")
    bad = run_command("verify", *key, stdin=raw.replace(b"/foo", b"/fob"))
    assert bad.exit_code == 1
    assert bad.output.startswith("not valid")
    assert "signature_mismatch (equation)" in bad.output


@pytest.mark.parametrize("option", [("--public-key-hex", HEX), ("--did-key", DID), ("--key-file", "public.pem")])
def test_what_sign_makes_verify_accepts_by_every_form_of_the_key(keys: Path, option: tuple[str, str]) -> None:
    """From a file and from standard input."""
    name, value = option
    key_option = (name, keys / value if name == "--key-file" else value)
    (keys / "signed.http").write_bytes(sign_message(keys))
    assert run_command("verify", keys / "signed.http", *key_option, *NOW).exit_code == 0
    assert run_command("verify", "-", *key_option, *NOW, stdin=sign_message(keys)).exit_code == 0
    assert run_command("verify", *key_option, *NOW, stdin=sign_message(keys).replace(b"\r\n", b"\n")).exit_code == 0


def test_sign_covers_what_is_worth_covering_and_adds_a_digest(keys: Path) -> None:
    """P-SG-02 and P-SG-03: components, parameters and their order."""
    message = http_message_text.read(sign_message(keys)).message
    expected_components = (
        'sig=("@method" "@authority" "@path" "@query" "content-digest");created=1700000000;expires=1700000300'
        f';keyid="{DID}";alg="ed25519"'
    )
    assert expected_components == message.field("signature-input")
    digest = base64.b64encode(hashlib.sha256(b'{"a":1}').digest()).decode()
    assert f"sha-256=:{digest}:" == message.field("content-digest")
    assert message.body == b'{"a":1}'


def test_everything_about_a_signature_can_be_chosen(keys: Path) -> None:
    """Components with parameters, label, times, keyid, nonce, tag, no alg; verify can demand them."""
    raw = sign_message(
        keys,
        *("--component", "@method", "--component", '"@query-param";name="id"', "--component", "content-digest"),
        *("--label", "mine", "--expires", "1700000009", "--keyid", "k", "--nonce", "n", "--tag", "t", "--no-alg"),
    )
    field = http_message_text.read(raw).message.field("signature-input")
    cover = '("@method" "@query-param";name="id" "content-digest")'
    assert field == f'mine={cover};created=1700000000;expires=1700000009;keyid="k";nonce="n";tag="t"'
    demands = ("--label", "mine", "--expect-tag", "t", "--require", "@method", "--max-age", "60")
    assert run_command("verify", "--did-key", DID, *NOW, *demands, stdin=raw).exit_code == 0
    for demand, code in (
        (("--label", "other"), "label_mismatch"),
        (("--expect-tag", "u"), "tag_mismatch"),
        (("--require", '"@query-param";name="x"'), "required_component_missing"),
        (("--now", "1700000070"), "expired"),
        (("--now", "1699999000"), "created_in_future"),
        (("--now", "1700000020", "--max-age", "9"), "too_old"),
        (("--allow-algorithm", "hmac-sha256"), "alg_not_allowed"),
    ):
        result = run_command("verify", "--did-key", DID, *NOW, *demand, stdin=raw)
        assert (result.exit_code, code in result.output) == (1, True)


def test_without_a_key_sign_makes_one_for_this_message(keys: Path) -> None:
    """Two calls, two keys; the verification key is printed on standard error, the message alone on standard output."""
    new_keys = []
    for _ in range(2):
        result = run_command("sign", keys / "plain.http")
        did = result.stderr.partition("--did-key ")[2].split()[0]
        assert "the key was generated for this message and deleted" in result.stderr
        assert run_command("verify", "--did-key", did, stdin=result.stdout_bytes).exit_code == 0
        new_keys.append(did)
    assert new_keys[0] != new_keys[1]


def test_other_algorithms_sign_and_verify(keys: Path) -> None:
    """RSA both ways, P-384, and a shared secret from a file or the environment."""
    for name in ("rsa-pss-sha512", "rsa-v1_5-sha256"):
        raw = sign_message(keys, "--algorithm", name, key="rsa.pem")
        assert run_command("verify", "--key-file", keys / "rsa.pem", *NOW, stdin=raw).exit_code == 0
        unnamed_message = sign_message(keys, "--algorithm", name, "--no-alg", key="rsa.pem")
        key_options = ("--key-file", keys / "rsa.pem", "--algorithm", name)
        assert run_command("verify", *key_options, *NOW, stdin=unnamed_message).exit_code == 0
    raw = sign_message(keys, key="ec.pem")
    assert "ecdsa-p384-sha384" in run_command("verify", "--key-file", keys / "ec.pem", *NOW, stdin=raw).output
    by_file = run_command("sign", keys / "plain.http", "--secret-file", keys / "secret", *CREATED_OPTION).stdout_bytes
    secret = {"WELDPROOF_HMAC_SECRET": "c2VjcmV0"}
    by_variable = run_command("sign", keys / "plain.http", *CREATED_OPTION, env=secret).stdout_bytes
    assert by_file == by_variable
    assert run_command("verify", *NOW, stdin=by_file, env=secret).exit_code == 0
    assert run_command("verify", *NOW, stdin=by_file, env={"WELDPROOF_HMAC_SECRET": "b3RoZXI="}).exit_code == 1
    text = (keys / "private.pem").read_text()
    by_key = run_command("sign", keys / "plain.http", *CREATED_OPTION, env={"WELDPROOF_SIGNING_KEY": text}).stdout_bytes
    assert by_key == sign_message(keys)
    assert sign_message(keys, key="seed") == sign_message(keys)


def test_secrets_are_never_shown(keys: Path) -> None:
    """Not in a message, an error or JSON."""
    for words in (("sign", "--json"), ("sign",)):
        result = run_command(*words, keys / "plain.http", "--secret-file", keys / "secret")
        assert "c2VjcmV0" not in result.output + result.stderr
    broken = keys / "broken.pem"
    broken.write_text((keys / "private.pem").read_text().replace("MC4", "AAA"))
    inner = broken.read_text().splitlines()[1]
    for word in ("sign", "verify"):
        result = run_command(word, keys / "plain.http", "--key-file", broken)
        assert result.exit_code == 2
        assert inner not in result.output
    no_base64 = keys / "raw"
    no_base64.write_bytes(b"very secret!")
    result = run_command("verify", "--secret-file", no_base64, stdin=PLAIN)
    assert (result.exit_code, "very secret" in result.output, "base64 -w0" in result.output) == (2, False, True)


def test_explain_shows_base_components_parameters_digest_and_what_to_do(keys: Path) -> None:
    """The base line by line, the digest computed, a note for the fault; without a key exit 3."""
    raw = sign_message(keys)
    good = run_command("explain", "--did-key", DID, *NOW, stdin=raw)
    assert good.exit_code == 0
    for text in ('  "@authority": api.example.org', '  "@query": ?id=7', "  created: 1700000000", "sha-256 computed"):
        assert text in good.output
    assert "what to do" not in good.output
    bad = run_command("explain", "--did-key", DID, *NOW, stdin=raw.replace(b'"a":1', b'"a":2'))
    assert bad.exit_code == 1
    assert "the content was changed after signing" in bad.output
    unverified_run = run_command("explain", *NOW, stdin=raw)
    assert unverified_run.exit_code == 3
    assert unverified_run.output.startswith("not verified")
    assert '  "@path": /orders' in unverified_run.output


def test_json_has_the_names_of_the_agents_answers(keys: Path) -> None:
    """One object on standard output, also for what is wrong."""
    raw = sign_message(keys)
    document = json.loads(run_command("verify", "--did-key", DID, *NOW, "--json", stdin=raw).stdout)
    assert (document["valid"], document["errors"], document["error_codes"]) == (True, [], [])
    assert document["signature_base"] == document["signing_base"]
    assert document["checked"] == {"signature": "pass", "content_digest": "pass", "created": "pass", "expires": "pass"}
    document = json.loads(run_command("explain", *NOW, "--json", stdin=raw).stdout)
    assert (document["verdict"], document["valid"]) == ("unverified", None)
    assert document["content_digest"]["match"] is True
    assert document["fix_notes"] == document["diagnosis"] != []
    broken = json.loads(run_command("explain", "--did-key", DID, "--json", stdin=PLAIN).stdout)
    assert (broken["verdict"], broken["error_codes"]) == ("fail", ["missing_signature_input"])
    assert broken["signature_base"] is None
    made = json.loads(
        run_command("sign", keys / "plain.http", "--key-file", keys / "seed", *CREATED_OPTION, "--json").stdout
    )
    assert (made["did_key"], made["public_key_hex"], made["ephemeral"]) == (DID, HEX, False)
    assert made["headers"]["Signature"] == http_message_text.read(raw).message.field("signature")


def test_a_response_is_judged_with_its_request(keys: Path) -> None:
    """Req needs the request, and without it the note says so; a request takes none."""
    answer = keys / "answer.http"
    answer.write_bytes(b"HTTP/1.1 200 OK\nContent-Type: text/plain\n\nhello")
    related_option = ("--related-request", keys / "plain.http")
    cover = ("--component", "@status", "--component", '"@path";req', "--component", "content-digest")
    signed_answer = run_command("sign", answer, *related_option, *cover, "--key-file", keys / "seed", *CREATED_OPTION)
    assert signed_answer.exit_code == 0, signed_answer.output
    assert (
        run_command("verify", *related_option, "--did-key", DID, *NOW, stdin=signed_answer.stdout_bytes).exit_code == 0
    )
    alone = run_command("explain", "--did-key", DID, *NOW, stdin=signed_answer.stdout_bytes)
    assert (alone.exit_code, "the request that this response answers is not known" in alone.output) == (1, True)
    assert run_command("verify", *related_option, "--did-key", DID, stdin=PLAIN).exit_code == 2
    default = run_command("sign", answer, "--key-file", keys / "seed", *CREATED_OPTION)
    assert b'("@status" "content-digest")' in default.stdout_bytes


def test_a_proxy_in_front_is_told_by_options(keys: Path) -> None:
    """The authority and scheme that the client used."""
    raw = sign_message(keys).replace(b"API.example.org:443", b"internal:8080")
    assert run_command("verify", "--did-key", DID, *NOW, stdin=raw).exit_code == 1
    assert run_command("verify", "--did-key", DID, *NOW, "--authority", "api.example.org", stdin=raw).exit_code == 0
    cover = ("--component", "@scheme", "--component", "content-digest")
    raw = sign_message(keys, *cover, "--scheme", "http")
    assert run_command("verify", "--did-key", DID, *NOW, stdin=raw).exit_code == 1
    assert run_command("verify", "--did-key", DID, *NOW, "--scheme", "http", stdin=raw).exit_code == 0


@pytest.mark.parametrize(
    ("words", "stdin", "sentence"),
    [
        (("verify",), PLAIN, "no key: give --public-key-hex"),
        (("verify", "--public-key-hex", "12"), PLAIN, "64 hex digits"),
        (("verify", "--did-key", "did:web:x"), PLAIN, "did:key:z6Mk"),
        (("verify", "--public-key-hex", "11" * 32, "--did-key", DID), PLAIN, "different keys"),
        (("verify", "--key-file", "nowhere.pem"), PLAIN, "nowhere.pem"),
        (("verify", "nowhere.http", "--did-key", DID), b"", "nowhere.http"),
        (("verify", "--did-key", DID), b"", "the message is empty"),
        (("verify", "--did-key", DID), b"hello", "line 1 is 'hello'"),
        (("verify", "--did-key", DID), b"GET / HTTP/1.1\n\n", "add one, or give --authority"),
        (("verify", "--did-key", DID, "--require", '"@method'), PLAIN, "a component is a name"),
        (("verify", "--did-key", DID, "--allow-algorithm", "none"), PLAIN, "none"),
        (("explain", "--related-request", "nowhere.http"), PLAIN, "nowhere.http"),
        (("sign", "--component", "x-none"), PLAIN, "no header field x-none"),
        (("sign", "--label", "No Label"), PLAIN, "label"),
        (("sign", "--algorithm", "hmac-sha256"), PLAIN, "signs ed25519"),
        (("sign", "--nonce", "é"), PLAIN, "cannot be written"),
        (("sign", "--key-file", "a", "--secret-file", "b"), PLAIN, "not both"),
        (("sign", "-o", "nowhere/out.http"), PLAIN, "nowhere/out.http"),
        (
            ("sign",),
            PLAIN.replace(b"Content-Type: application/json", b"Content-Digest: sha-256=:AAAA:"),
            "remove the field",
        ),
    ],
)
def test_what_cannot_be_used_is_a_usage_error_that_says_what_to_do(
    words: tuple[str, ...], stdin: bytes, sentence: str
) -> None:
    """Exit code 2 and a sentence; never a stack trace."""
    result = run_command(*words, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_the_same_key_in_two_forms_is_one_key(keys: Path) -> None:
    """Hex and did:key of one key may both be given."""
    key_options = ("--public-key-hex", HEX, "--did-key", DID, "--key-file", keys / "public.pem")
    assert run_command("verify", *key_options, *NOW, stdin=sign_message(keys)).exit_code == 0


def test_a_message_cannot_drive_the_terminal() -> None:
    """Control characters in names, values and tags are shown as escapes."""
    raw = PLAIN.replace(b"Content-Type: a", b"X-Evil: \x1b[31mred\nContent-Type: a")
    raw = raw.replace(b"\n\n", b'\nSignature-Input: a=("x-evil" "@method")\nSignature: a=:AA==:\n\n', 1)
    result = run_command("explain", "--did-key", DID, stdin=raw)
    assert result.exit_code == 1
    assert "\x1b[31m" not in result.output


def test_output_goes_to_a_file_when_one_is_named(keys: Path) -> None:
    """Then standard output stays empty."""
    result = run_command(
        "sign", keys / "plain.http", "--key-file", keys / "seed", *CREATED_OPTION, "-o", keys / "out.http"
    )
    assert (result.exit_code, result.stdout) == (0, "")
    assert (keys / "out.http").read_bytes() == sign_message(keys)


def flags(vector: MessageVector, folder: Path) -> list[object]:
    """Return the options that say what a vector's members say."""
    policy, message = vector.policy, message_of(vector.message)
    options: list[object] = ["--scheme", message.scheme, "--authority", message.authority]
    options += ["--now", policy.get("now", LATER)]
    for name, option in (("label", "--label"), ("expected_tag", "--expect-tag"), ("max_age_seconds", "--max-age")):
        options += [option, policy[name]] if name in policy else []
    for name, option in (("allowed_algorithms", "--allow-algorithm"), ("required_components", "--require")):
        options += [word for value in policy.get(name, []) for word in (option, value)]
    options += [] if policy.get("require_content_digest", True) else ["--no-content-digest"]
    options += ["--allow-empty"] if policy.get("allow_empty_components") else []
    if message.request is not None:
        (folder / "request.http").write_bytes(http_message_text.write(message.request))
        options += ["--related-request", folder / "request.http"]
    for name, option in (("public_key_hex", "--public-key-hex"), ("did_key", "--did-key")):
        options += [option, vector.key[name]] if name in vector.key else []
    for name, option in (("public_key_pem", "--key-file"), ("secret_b64", "--secret-file")):
        if name in vector.key:
            (folder / "key").write_text(vector.key[name])
            options += [option, folder / "key", *(["--algorithm", vector.key["algorithm"]] if "pem" in name else [])]
    return options


# A command that names no algorithm means any; a raw request has a Host, and room for trailers.
OTHERWISE = {
    "rfc9421/parameters/alg-not-allowed/none-allowed": (0, set()),
    "rfc9421/coverage/tr-without-trailers/header": (1, {"missing_component"}),
    "rfc9421/coverage/tr-without-trailers/nothing": (1, {"missing_component"}),
    "rfc9421/coverage/field-absent/host": (1, {"signature_mismatch"}),
}


@pytest.mark.parametrize("vector", [one for one in message_signatures() if fits_http(one)], ids=lambda one: one.id)
def test_every_vector_is_judged_as_it_should_be(vector: MessageVector, tmp_path: Path) -> None:
    """The command's verdict and codes are the vector's, the message coming in raw."""
    raw = http_message_text.write(message_of(vector.message))
    result = run_command("explain", *flags(vector, tmp_path), "--json", stdin=raw)
    document = json.loads(result.stdout)
    usual = (0 if vector.expected.valid else 1, set(vector.expected.codes))
    assert OTHERWISE.get(vector.id, usual) == (result.exit_code, set(document["error_codes"]))
    if vector.id not in OTHERWISE:
        assert vector.signature_base == document["signature_base"]
