"""One node that is asked a sequence of calls, and its answers, with everything replaced that differs between nodes.

Two nodes that behave alike give equal answers: accounts, transactions, the asset and the genesis have names; rounds,
times and hashes have a placeholder.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgpack
from algosdk import account, encoding, transaction
from algosdk.v2client.algod import AlgodClient
from nacl.signing import SigningKey

from tests.algorand_signing import signed_by

_SHORT_BODY = 100
BINARY = {"Content-Type": "application/x-binary"}
# Headers of answers that clients can depend on; `Vary` and lengths are not among them.
_HEADERS = ("allow", "access-control-allow-origin", "access-control-allow-headers", "access-control-allow-methods")
# Members whose values are rounds, times or counters.
_MOVING_PARTS = re.compile(
    r"(.*round|round|fv|lv|rnd|ts|tc|ld|time-since-last-round|total-money|online-money|online-stake|current_round)"
)
_HASHES = frozenset(
    {
        "sig",
        "s",
        "txn",
        "grp",
        "prev",
        "prev512",
        "seed",
        "txn256",
        "txn512",
        "prp",
        "fees",
        "rwd",
        "blockHash",
        "stibhash",
    }
)
# Go prints whole structures in some messages, and positions of its decoder in others.
_STRUCTURES = (
    (re.compile(r"\{_struct:.*\} invalid : ", re.DOTALL), "{...} invalid : "),
    (
        re.compile(r"data \{AccountBaseData:.*?MicroAlgos:([0-9.muA]+).*\}\}, tried", re.DOTALL),
        r"data {... \1 ...}, tried",
    ),
    (re.compile(r" \[pos \d+\]"), ""),
    (re.compile(r"round \d+ outside of \d+--\d+"), "round N outside of N--N"),
    (re.compile(r"\(\d+--\d+\)"), "(N--N)"),
    (re.compile(r"<[A-Z2-7]{52}>"), "<HASH>"),
    (re.compile(r"(inconsistent group values: )[A-Z2-7]{52} != [A-Z2-7]{52}"), r"\1H != H"),
    (
        re.compile(r"(incomplete group: )[A-Z2-7]{52} != [A-Z2-7]{52} \(\{\{\} \[[A-Z2-7 ]*\]\}\)"),
        r"\1H != H ({{} [...]})",
    ),
)


class Session:
    """A node, throw-away accounts for it, and its answers so far."""

    def __init__(self, url: str, token: str, salt: str, fund: Callable[[str, int], object]) -> None:
        """Take the node.

        Args:
            url: Address of algod.
            token: Its API token.
            salt: What the keys of the accounts follow from; a network that was asked before needs another one.
            fund: Gives Algos to an address and returns once they are in a block.
        """
        self.url = url
        self.token = token
        self.client = AlgodClient(token, url)
        self.answers: dict[str, dict[str, Any]] = {}
        self._salt = salt
        self._fund = fund
        self._keys: dict[str, str] = {}
        self._names: dict[str, str] = {token: "<token>"}
        params = self.client.suggested_params()
        self.genesis_id, self.genesis_hash = str(params.gen), str(params.gh)
        self.name(self.genesis_hash, "<genesis hash>")
        self.name(self.genesis_id, "<genesis id>")
        self.name(str(self.json("/v2/transactions/params")["consensus-version"]), "<consensus version>")

    def name(self, text: str, name: str) -> None:
        """Write `name` for `text` in answers from here on."""
        self._names[text] = name

    def key(self, name: str) -> str:
        """Return the private key of an account by its name."""
        if name not in self._keys:
            seed = hashlib.sha256(f"{self._salt}/{name}".encode()).digest()
            public = bytes(SigningKey(seed).verify_key)
            self._keys[name] = base64.b64encode(seed + public).decode()
            self.name(encoding.encode_address(public), f"<{name}>")
            self.name(base64.b64encode(public).decode(), f"<{name} key>")
        return self._keys[name]

    def address(self, name: str) -> str:
        """Return the address of an account by its name."""
        return str(account.address_from_private_key(self.key(name)))

    def fund(self, name: str, amount: int) -> None:
        """Give Algos to an account."""
        self._fund(self.address(name), amount)

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        token: bool = True,
        seconds: float = 10.0,
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of a call; status 0 is a call that got no answer in time."""
        split = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(split.hostname), split.port, timeout=seconds)
        own = {"X-Algo-API-Token": self.token} if token else {}
        try:
            connection.request(method, path, body, {**own, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        except TimeoutError:
            return 0, {}, b""
        finally:
            connection.close()

    def json(self, path: str) -> dict[str, Any]:
        """Return the JSON of a GET that is not part of the answers."""
        body: dict[str, Any] = json.loads(self.call("GET", path)[2])
        return body

    @property
    def round(self) -> int:
        """Number of the newest block."""
        return int(self.json("/v2/status")["last-round"])

    def ask(
        self,
        case: str,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        token: bool = True,
        seconds: float = 10.0,
        keep_body: bool = True,
    ) -> int:
        """Make a call, keep its answer under the name of a case, and return the status."""
        status, answer_headers, data = self.call(method, path, body, headers, token=token, seconds=seconds)
        request: dict[str, Any] = {"call": self._replace_names(f"{method} {path}")}
        if headers and headers != BINARY:
            request["headers"] = self._replace_names(dict(headers))
        if not token:
            request["token"] = False
        if body is not None:
            request["body"] = self._describe_body(body)
        answer: dict[str, Any] = {"request": request, "status": status}
        shown_headers = {name: answer_headers[name] for name in _HEADERS if name in answer_headers}
        if shown_headers:
            answer["headers"] = shown_headers
        if status and data:
            answer["type"] = answer_headers.get("content-type", "").partition(";")[0]
        if status and keep_body:
            answer["body"] = self._settle_values(_decode(answer_headers.get("content-type", ""), data))
        assert case not in self.answers, case
        self.answers[case] = answer
        return status

    def note(self, case: str, member: str, value: Any) -> None:
        """Keep a value that follows from several calls."""
        self.answers[case] = {"request": {"measured": member}, "status": 200, "body": value}

    def submit(self, case: str, group: list[bytes], tx_ids: list[str], *, wait: bool = True) -> bool:
        """Submit signed transactions; keep the answer and what the node says of each once it is in a block."""
        for place, tx_id in enumerate(tx_ids):
            self.name(tx_id, f"<id of {case}>" if len(tx_ids) == 1 else f"<id {place} of {case}>")
        is_taken = self.ask(f"submit {case}", "POST", "/v2/transactions", b"".join(group), BINARY) == 200
        if is_taken and wait:
            self.wait(tx_ids[0])
            for place, tx_id in enumerate(tx_ids[:2]):
                self.ask(f"confirmed {case} {place}", "GET", f"/v2/transactions/pending/{tx_id}?format=json")
        return is_taken

    def send(self, case: str, transaction_to_send: transaction.Transaction, signer: str, *, wait: bool = True) -> bool:
        """Sign a transaction with the key of an account and submit it."""
        return self.submit(
            case,
            [raw(sign_transaction(self.key(signer), transaction_to_send))],
            [transaction_to_send.get_txid()],
            wait=wait,
        )

    def wait(self, tx_id: str) -> dict[str, Any]:
        """Return what the node says of a transaction once it is in a block or has failed."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            status = self.json(f"/v2/transactions/pending/{tx_id}?format=json")
            if status.get("confirmed-round") or status.get("pool-error"):
                return status
            time.sleep(0.02)
        raise AssertionError(f"{tx_id} is not in a block")

    def params(self, **changes: Any) -> transaction.SuggestedParams:
        """Return parameters with a fee of 1,000 microalgos, and with changes."""
        params = self.client.suggested_params()
        params.flat_fee, params.fee = True, 1000
        for name, value in changes.items():
            setattr(params, name, value)
        return params

    def _replace_names(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(name): self._replace_names(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self._replace_names(member) for member in value]
        if isinstance(value, bytes):
            shown = base64.b64encode(value).decode()
            return self._replace_names(f"b64:{shown}" if len(value) < _SHORT_BODY else f"<{len(value)} bytes>")
        if isinstance(value, str):
            for text in sorted(self._names, key=len, reverse=True):
                value = value.replace(text, self._names[text])
            for pattern, name in _STRUCTURES:
                value = pattern.sub(name, value)
        return value

    def _settle_values(self, value: Any, name: str = "") -> Any:
        """Return an answer without what differs from node to node."""
        if name == "cert":
            return "<certificate>"
        if isinstance(value, Mapping):
            return {
                self._replace_names(str(key)): self._settle_values(member, str(key)) for key, member in value.items()
            }
        if isinstance(value, list):
            return [self._settle_values(member, name) for member in value]
        if isinstance(value, int) and not isinstance(value, bool) and _MOVING_PARTS.fullmatch(name):
            return "<number>"
        if name in _HASHES and isinstance(value, str | bytes):
            return "<hash>"
        if isinstance(value, int) and str(value) in self._names:
            return self._names[str(value)]
        return self._replace_names(value)

    def _describe_body(self, body: bytes) -> Any:
        """Return a body that was sent: the maps in it, else its start in base64."""
        try:
            unpacker = msgpack.Unpacker(raw=False)
            unpacker.feed(body)
            maps = list(unpacker)
        except ValueError:
            maps = []
        if maps and all(isinstance(one, dict) for one in maps):
            return self._settle_values(maps)
        return f"b64:{base64.b64encode(body).decode()}" if len(body) < _SHORT_BODY else "<bytes>"


def sign_transaction(key: str, transaction_to_sign: transaction.Transaction) -> Any:
    """Return a transaction signed with a key, which it names in `sgnr` if the key is not the sender's."""
    return signed_by(key, transaction_to_sign)


def raw(signed_transaction: Any) -> bytes:
    """Return the msgpack of a signed transaction."""
    return base64.b64decode(encoding.msgpack_encode(signed_transaction))


def _decode(content_type: str, data: bytes) -> Any:
    if "msgpack" in content_type:
        return msgpack.unpackb(data, raw=False, strict_map_key=False)
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("latin1")
