"""The calls that a node is asked: each case has a name, and a recording holds its answer under that name.

The order matters: later cases depend on what earlier ones left in the ledger. A, B, C, N, R and X are funded accounts.
C is the creator of the asset, N never opts in, and Z does not exist.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

import msgpack
from algosdk import encoding, transaction
from algosdk.atomic_transaction_composer import MultisigTransactionSigner
from algosdk.transaction import (
    AssetConfigTxn,
    AssetDestroyTxn,
    AssetFreezeTxn,
    AssetTransferTxn,
    Multisig,
    PaymentTxn,
)

from tests.sim.algorand.answers.session import BINARY, Session, raw, sign_transaction

IDLE_SECONDS = 60
_FUNDED_ACCOUNTS = {"A": 50_000_000, "B": 5_000_000, "C": 20_000_000, "N": 5_000_000, "R": 5_000_000, "X": 5_000_000}
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_NOWHERE = encoding.encode_address(bytes(32))
_UNKNOWN_ASSET = 2**40
_ORIGIN = {"Origin": "https://wallet.example"}
_PREFLIGHT = {
    **_ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "x-algo-api-token,content-type",
}


class Script:
    """The cases, asked of one node."""

    def __init__(self, session: Session, pass_time: Callable[[int], object]) -> None:
        """Take the node, and how so many seconds pass on it without a transaction."""
        self.node = session
        self.pass_time = pass_time
        self.asset = 0
        self.last_id = ""

    def run(self) -> None:
        """Ask everything."""
        for name, amount in _FUNDED_ACCOUNTS.items():
            self.node.fund(name, amount)
        self.node_facts()
        self.paths_and_tokens()
        self.other_origins()
        self.make_asset()
        self.payments()
        self.notes()
        self.duplicates()
        self.refused_terms()
        self.refused_signatures()
        self.refused_amounts()
        self.asset_roles()
        self.show_rekeyed()
        self.multisig()
        self.groups()
        self.show_closing()
        self.shapes()
        self.pool()
        self.ids()
        self.accounts()
        self.assets()
        self.blocks()
        self.simulate()
        self.show_landing()
        self.idle()

    # The node itself.

    def node_facts(self) -> None:
        """What the node says of itself."""
        ask = self.node.ask
        for path in ("/health", "/ready", "/versions", "/genesis", "/v2/status", "/v2/transactions/params"):
            ask(f"GET {path}", "GET", path)
            ask(f"GET {path} without token", "GET", path, token=False)
        ask("supply", "GET", "/v2/ledger/supply")
        for text in ("abc", "-1", str(2**64)):
            ask(f"wait after {text}", "GET", f"/v2/status/wait-for-block-after/{text}")
        ask("wait after 0", "GET", "/v2/status/wait-for-block-after/0")
        ask("status format=msgpack", "GET", "/v2/status?format=msgpack")
        ask("params format=msgpack", "GET", "/v2/transactions/params?format=msgpack")

    def paths_and_tokens(self) -> None:
        """Tokens, paths and methods."""
        ask, token = self.node.ask, self.node.token
        for name, headers in (
            ("missing", {}),
            ("wrong", {"X-Algo-API-Token": "b" * 64}),
            ("empty", {"X-Algo-API-Token": ""}),
            ("with a space after it", {"X-Algo-API-Token": f"{token} "}),
            ("as bearer", {"Authorization": f"Bearer {token}"}),
            ("as bearer in lower case", {"Authorization": f"bearer {token}"}),
            ("as basic", {"Authorization": f"Basic {token}"}),
            ("in the indexer's header", {"X-Indexer-API-Token": token}),
        ):
            ask(f"token {name}", "GET", "/v2/status", headers=headers, token=False)
        ask("token in the query", "GET", f"/v2/status?token={token}", token=False)
        for name, method, path in (
            ("unknown path", "GET", "/v2/nothing"),
            ("root", "GET", "/"),
            ("first version", "GET", "/v1/status"),
            ("trailing slash", "GET", "/v2/status/"),
            ("double slash", "GET", "//v2/status"),
            ("upper-case path", "GET", "/V2/status"),
            ("POST status", "POST", "/v2/status"),
            ("DELETE status", "DELETE", "/v2/status"),
            ("PUT transactions", "PUT", "/v2/transactions"),
            ("GET transactions", "GET", "/v2/transactions"),
            ("HEAD status", "HEAD", "/v2/status"),
        ):
            ask(name, method, path)
        ask("unknown path without token", "GET", "/v2/nothing", token=False)
        ask("POST status without token", "POST", "/v2/status", token=False)
        ask("HEAD params without token", "HEAD", "/v2/transactions/params", token=False)

    def other_origins(self) -> None:
        """A page of another origin, as wallets in browsers are."""
        ask = self.node.ask
        ask("OPTIONS status", "OPTIONS", "/v2/status", token=False)
        ask("OPTIONS unknown path", "OPTIONS", "/v2/nothing", token=False)
        ask("preflight", "OPTIONS", "/v2/transactions", headers=_PREFLIGHT, token=False)
        ask("GET with an origin", "GET", "/v2/status", headers=_ORIGIN)
        ask("GET with an origin, without token", "GET", "/v2/status", headers=_ORIGIN, token=False)
        ask("unknown path with an origin", "GET", "/v2/nothing", headers=_ORIGIN)

    # Transactions.

    def make_asset(self) -> None:
        """An asset of C, which A and B opt in to."""
        node = self.node
        creator = node.address("C")
        roles = {"manager": creator, "reserve": creator, "freeze": creator, "clawback": creator}
        creation = AssetConfigTxn(
            creator,
            node.params(),
            total=10**12,
            decimals=6,
            default_frozen=False,
            unit_name="USDC",
            asset_name="USDC",
            url="http://u",
            **roles,
        )
        node.send("create asset", creation, "C", wait=False)
        self.asset = int(node.wait(creation.get_txid())["asset-index"])
        node.name(str(self.asset), "<asset>")
        node.ask("confirmed create asset 0", "GET", f"/v2/transactions/pending/{creation.get_txid()}?format=json")
        node.send("mint before the opt-in", self.transfer("C", "A", 10**9), "C")
        node.send("opt in A", self.transfer("A", "A", 0), "A")
        node.send("opt in B", self.transfer("B", "B", 0), "B")
        node.send("opt in A again", self.transfer("A", "A", 0, note=b"again"), "A")
        node.send("mint", self.transfer("C", "A", 10**9), "C")

    def transfer(self, sender: str, receiver: str, amount: int = 1000, **more: Any) -> AssetTransferTxn:
        """Return a transfer of the asset between accounts that are named."""
        node, params = self.node, more.pop("params", None) or self.node.params()
        asset, to = more.pop("asset", self.asset), _NOWHERE if receiver == "nowhere" else node.address(receiver)
        return AssetTransferTxn(node.address(sender), params, to, amount, asset, **more)

    def payment(self, sender: str, receiver: str, amount: int, **more: Any) -> PaymentTxn:
        """Return a payment of Algos between accounts that are named."""
        node, params = self.node, more.pop("params", None) or self.node.params()
        to = _NOWHERE if receiver == "nowhere" else node.address(receiver)
        return PaymentTxn(node.address(sender), params, to, amount, **more)

    def payments(self) -> None:
        """Payments and transfers that the node takes."""
        send = self.node.send
        send("payment", self.payment("A", "B", 100_000), "A")
        send("payment of zero", self.payment("A", "B", 0), "A")
        send("payment to the zero address", self.payment("A", "nowhere", 100_000), "A")
        send("transfer", self.transfer("A", "B", note=b"token"), "A")
        send("transfer of zero", self.transfer("A", "B", 0, note=b"zero"), "A")
        send("transfer to itself", self.transfer("A", "A", note=b"self"), "A")
        send("zero to an account not opted in", self.transfer("A", "N", 0, note=b"z"), "A")
        send("fee of 5000", self.transfer("A", "B", params=self.node.params(fee=5000), note=b"f5000"), "A")
        params = self.node.params()
        params.gen = None
        send("no genesis id", self.transfer("A", "B", params=params, note=b"nogen"), "A")
        last = self.transfer("A", "B", note=b"last")
        send("last transfer", last, "A")
        self.last_id = last.get_txid()

    def notes(self) -> None:
        """Notes up to 4,096 bytes, of which those beyond 1,024 cost more."""
        send, params = self.node.send, self.node.params
        for size, fee in ((1024, 1000), (1025, 1000), (1025, 1001), (4096, 1000), (4096, 1307), (4096, 1308)):
            transfer = self.transfer("A", "B", note=b"n" * size, params=params(fee=fee))
            send(f"note of {size} bytes, fee {fee}", transfer, "A")
        transfer = self.transfer("A", "B", params=params(fee=2000))
        transfer.note = b"n" * 4097
        send("note of 4097 bytes, fee 2000", transfer, "A")

    def duplicates(self) -> None:
        """One transaction twice, while it waits and once it is in a block."""
        node = self.node
        once = self.transfer("A", "B", note=b"dup")
        data = [raw(sign_transaction(node.key("A"), once))]
        node.submit("first of two", data, [once.get_txid()], wait=False)
        node.submit("second of two, at once", data, [once.get_txid()])
        node.wait(once.get_txid())
        node.submit("second of two, later", data, [once.get_txid()])

    def refused_terms(self) -> None:
        """Another network, rounds that do not fit, and fees that are too low."""
        node = self.node
        other_params = node.params()
        other_params.gh = base64.b64encode(b"\1" * 32).decode()
        node.send("wrong genesis hash", self.transfer("A", "B", params=other_params), "A")
        other_params = node.params()
        other_params.gen = "other-v1"
        node.send("wrong genesis id", self.transfer("A", "B", params=other_params), "A")
        for name, first, last in (
            ("expired", None, -1),
            ("last valid is the last round", None, 0),
            ("first valid in the future", 500, 900),
            ("window of 1000", 0, 1000),
            ("window of 1001", 0, 1001),
            ("last before first", 5, 0),
        ):
            now = node.round
            params = node.params(first=1 if first is None else now + first, last=now + last)
            node.send(name, self.transfer("A", "B", params=params, note=name.encode()), "A")
        node.send("lease", self.transfer("A", "B", lease=b"L" * 32, note=b"l1"), "A")
        node.send("lease twice", self.transfer("A", "B", lease=b"L" * 32, note=b"l2"), "A")
        for fee in (0, 999):
            node.send(f"fee of {fee}", self.transfer("A", "B", params=node.params(fee=fee), note=b"low"), "A")

    def refused_signatures(self) -> None:
        """Signatures that are wrong, missing, or in a form that is not allowed."""
        node = self.node
        transfer = self.transfer("A", "B", note=b"sig")
        envelope = sign_transaction(node.key("B"), transfer)
        node.submit("signed by another, which sgnr names", [raw(envelope)], [transfer.get_txid()])
        envelope.authorizing_address = None
        node.submit("signed by another", [raw(envelope)], [transfer.get_txid()])
        envelope = sign_transaction(node.key("A"), transfer)
        envelope.authorizing_address = node.address("A")
        node.submit("sgnr is the sender", [raw(envelope)], [transfer.get_txid()])
        members = msgpack.unpackb(raw(sign_transaction(node.key("A"), transfer)), raw=False)
        flipped_signature = members["sig"][:-1] + bytes([members["sig"][-1] ^ 1])
        node.submit(
            "signature with a flipped bit", [_pack({**members, "sig": flipped_signature})], [transfer.get_txid()]
        )
        node.submit("no signature", [_pack({"txn": members["txn"]})], [transfer.get_txid()])

    def refused_amounts(self) -> None:
        """What the ledger does not allow."""
        send = self.node.send
        send("more Algos than there are", self.payment("A", "B", 10**15), "A")
        send("below the minimum balance", self.payment("X", "B", 4_950_000), "X")
        send("to a new account, below its minimum", self.payment("A", "Z", 1000), "A")
        send("without Algos", self.payment("Z", "B", 1), "Z")
        send("more of the asset than there is", self.transfer("A", "B", 10**15), "A")
        send("receiver not opted in", self.transfer("A", "N"), "A")
        send("sender not opted in", self.transfer("N", "A", 1), "N")
        send("unknown asset", self.transfer("A", "B", 1, asset=_UNKNOWN_ASSET), "A")
        send("opt in to an unknown asset", self.transfer("A", "A", 0, asset=_UNKNOWN_ASSET), "A")
        send("asset to the zero address", self.transfer("A", "nowhere"), "A")

    def asset_roles(self) -> None:
        """Freezing and clawing back."""
        node, send = self.node, self.node.send
        a, b, c = (node.address(name) for name in "ABC")
        send("freeze A", AssetFreezeTxn(c, node.params(), self.asset, a, True), "C")
        send("from a frozen holding", self.transfer("A", "B", note=b"fr"), "A")
        send("zero from a frozen holding", self.transfer("A", "B", 0, note=b"fr0"), "A")
        send("to a frozen holding", self.transfer("C", "A", 1, note=b"fr"), "C")
        send("clawback from a frozen holding", self.transfer("C", "B", 500, revocation_target=a, note=b"cb"), "C")
        send("unfreeze A", AssetFreezeTxn(c, node.params(), self.asset, a, False), "C")
        send("clawback by another", self.transfer("B", "B", 5, revocation_target=a), "B")
        send("clawback to the same account", self.transfer("C", "B", 7, revocation_target=b, note=b"cbs"), "C")

    def show_rekeyed(self) -> None:
        """An account whose key was changed."""
        node = self.node
        node.send("rekey R", self.payment("R", "R", 0, rekey_to=node.address("X")), "R")
        node.send("rekeyed, with its old key", self.payment("R", "B", 1), "R")
        node.send("rekeyed, with its new key", self.payment("R", "B", 2), "X")
        payment = self.payment("R", "B", 3)
        envelope = sign_transaction(node.key("X"), payment)
        envelope.authorizing_address = None
        node.submit("rekeyed, with its new key and no sgnr", [raw(envelope)], [payment.get_txid()])
        node.ask("rekeyed account", "GET", f"/v2/accounts/{node.address('R')}")

    def multisig(self) -> None:
        """An account of two keys of which both must sign."""
        node = self.node
        owners = [node.address("A"), node.address("B")]
        multisig = str(Multisig(1, 2, owners).address())
        node.name(multisig, "<M>")
        node.name(base64.b64encode(encoding.decode_address(multisig)).decode(), "<M key>")
        node.send("fund M", PaymentTxn(node.address("A"), node.params(), multisig, 1_000_000), "A")
        for name, keys in (
            ("multisig", "AB"),
            ("multisig below its threshold", "A"),
            ("multisig, wrong signature", "AB"),
        ):
            payment = PaymentTxn(multisig, node.params(), owners[1], 1, note=name.encode())
            signer = MultisigTransactionSigner(Multisig(1, 2, owners), [node.key(key) for key in keys])
            envelope: Any = signer.sign_transactions([payment], [0])[0]
            if "wrong" in name:
                envelope.multisig.subsigs[1].signature = envelope.multisig.subsigs[0].signature
            node.submit(name, [raw(envelope)], [payment.get_txid()])

    def groups(self) -> None:
        """Groups, which land or fail as a whole."""
        params = self.node.params
        self.group("group of two", [self.make_noted("g1"), self.make_noted("g2")])
        self.group("group whose second fails", [self.make_noted("g3"), self.transfer("A", "B", 10**15, note=b"g4")])
        self.group(
            "group, one pays for both", [self.make_noted("g5", params(fee=2000)), self.make_noted("g6", params(fee=0))]
        )
        self.group(
            "group, fees too low", [self.make_noted("g7", params(fee=1000)), self.make_noted("g8", params(fee=999))]
        )
        self.group("two without a group id", [self.make_noted("g9"), self.make_noted("g10")], is_assigned=False)
        pair = transaction.assign_group_id([self.make_noted("g11"), self.make_noted("g12")])
        self.group("half of a group", pair[:1], is_assigned=False)
        pair = transaction.assign_group_id([self.make_noted("g13"), self.make_noted("g14")])
        self.group("group in another order", pair[::-1], is_assigned=False)
        other_group = transaction.assign_group_id([self.make_noted("g15"), self.make_noted("g16")])
        self.group("two halves of groups", [pair[0], other_group[1]], is_assigned=False)
        self.group("group of 16", [self.make_noted(f"h{number}") for number in range(16)])
        self.group("group of 17", [self.make_noted(f"i{number}") for number in range(17)], is_assigned=False)

    def make_noted(self, note: str, params: Any = None) -> AssetTransferTxn:
        """Return a transfer that its note tells from others."""
        return self.transfer("A", "B", params=params, note=note.encode())

    def group(self, case: str, transactions: Sequence[Any], *, is_assigned: bool = True) -> None:
        """Submit a group that A signs."""
        members = transaction.assign_group_id(list(transactions)) if is_assigned else list(transactions)
        key = self.node.key("A")
        self.node.submit(
            case, [raw(sign_transaction(key, one)) for one in members], [one.get_txid() for one in members]
        )

    def show_closing(self) -> None:
        """Closing holdings and accounts, and changing the asset."""
        node, send = self.node, self.node.send
        a, b, c, n = (node.address(name) for name in "ABCN")
        send("close a holding", self.transfer("B", "A", 1, close_assets_to=a, note=b"co"), "B")
        send("close a holding again", self.transfer("B", "A", 0, close_assets_to=a, note=b"co2"), "B")
        send("close the creator's holding", self.transfer("C", "A", 0, close_assets_to=a, note=b"co3"), "C")
        send("close to an account not opted in", self.transfer("A", "N", 0, close_assets_to=n, note=b"co4"), "A")
        send("close an account with a holding", self.payment("A", "B", 0, close_remainder_to=b), "A")
        send("close an account to itself", self.payment("X", "B", 0, close_remainder_to=node.address("X")), "X")
        send("close N", self.payment("N", "B", 0, close_remainder_to=b), "N")
        node.ask("closed account", "GET", f"/v2/accounts/{n}")
        send("destroy an asset that others hold", AssetDestroyTxn(c, node.params(), self.asset), "C")
        roles = {"manager": a, "reserve": a, "freeze": a, "clawback": a}
        send("change the asset as another", AssetConfigTxn(a, node.params(), index=self.asset, **roles), "A")
        roles = {"manager": c, "reserve": a, "freeze": c, "clawback": c}
        send("change the asset", AssetConfigTxn(c, node.params(), index=self.asset, **roles), "C")

    def shapes(self) -> None:
        """Bodies that are not what SDKs send."""
        node = self.node
        transfer = self.transfer("A", "A", note=b"shape")
        data = raw(sign_transaction(node.key("A"), transfer))
        members = msgpack.unpackb(data, raw=False)
        txn, swapped_members = members["txn"], {"txn": members["txn"], "sig": members["sig"]}
        zero = {**txn, "fee": 0}
        body = {
            "nothing": b"",
            "garbage": b"\x00\xff\x13garbage",
            "JSON": b'{"txn":{}}',
            "an empty map": b"\x80",
            "base64": base64.b64encode(data),
            "a map that breaks off": data[:-5],
            "a map and garbage": data + b"\xc1",
            "an unknown member": _pack({**members, "txn": {**txn, "zzz": 1}}),
            "a note as text": _pack({**members, "txn": {**txn, "note": "text"}}),
            "an unknown type": _pack({**members, "txn": {**txn, "type": "nope"}}),
            "a member of another type": _pack({**members, "txn": {**txn, "amt": 5}}),
            "no type": _pack({**members, "txn": {name: txn[name] for name in txn if name != "type"}}),
            "a fee of zero written out": _pack({**members, "txn": zero}),
        }
        for name, sent in body.items():
            node.ask(f"submit {name}", "POST", "/v2/transactions", sent, BINARY)
        node.submit("members in another order", [_pack(swapped_members, in_order=False)], [transfer.get_txid()])
        longer = data.replace(msgpack.packb("aamt") + msgpack.packb(1000), msgpack.packb("aamt") + b"\xce\0\0\x03\xe8")
        assert longer != data
        node.ask("submit an integer longer than needed", "POST", "/v2/transactions", longer, BINARY)
        for name, path, headers in (
            ("as text/plain", "/v2/transactions", {"Content-Type": "text/plain"}),
            ("as JSON", "/v2/transactions", {"Content-Type": "application/json"}),
            ("with a slash after the path", "/v2/transactions/", {}),
            ("with format=msgpack", "/v2/transactions?format=msgpack", {}),
        ):
            other_transfer = self.transfer("A", "A", note=name.encode())
            node.name(other_transfer.get_txid(), f"<id of {name}>")
            node.ask(f"submit {name}", "POST", path, raw(sign_transaction(node.key("A"), other_transfer)), headers)

    def pool(self) -> None:
        """What waits for a block, once everything that was sent is in one."""
        node = self.node
        until = self.transfer("A", "A", note=b"until")
        node.send("last before the pool is empty", until, "A")
        for name, path in (
            ("pool", "/v2/transactions/pending"),
            ("pool max=abc", "/v2/transactions/pending?max=abc"),
            ("pool format=xml", "/v2/transactions/pending?format=xml"),
            ("pool of A", f"/v2/accounts/{node.address('A')}/transactions/pending"),
            ("pool of a bad address", "/v2/accounts/ABC/transactions/pending"),
        ):
            node.ask(name, "GET", path)

    # Lookups.

    def ids(self) -> None:
        """A transaction by ids that are spelled in many ways."""
        node, good = self.node, self.last_id
        ask, pending_path = self.node.ask, "/v2/transactions/pending/"
        for query in ("", "?format=json", "?format=JSON", "?format=msgpack", "?format=xml"):
            ask(f"id{query}", "GET", f"{pending_path}{good}{query}")
        spare = good[:-1] + _ALPHABET[_ALPHABET.index(good[-1]) ^ 1]
        node.name(spare, "<id with other spare bits>")
        node.name(good.lower(), "<id in lower case>")
        node.name(good[1:], "<rest of the id>")
        for name, text in (
            ("unknown", "A" * 52),
            ("with other spare bits", spare),
            ("short", "ABC"),
            ("53 letters", f"{good}A"),
            ("in lower case", good.lower()),
            ("with the digit 1", f"1{good[1:]}"),
            ("padded", f"{good}===="),
            ("not ASCII", "%C3%A9" * 10),
            ("with a slash", "A/B"),
            ("with a space", f"{good}%20"),
            ("empty", ""),
        ):
            ask(f"id {name}", "GET", pending_path + text)

    def accounts(self) -> None:
        """Accounts and their holdings."""
        node, ask = self.node, self.node.ask
        a, c = node.address("A"), node.address("C")
        for name, path in (
            ("account", a),
            ("account of the creator", c),
            ("account never used", node.address("never")),
            ("account exclude=all", f"{a}?exclude=all"),
            ("account exclude=none", f"{a}?exclude=none"),
            ("account exclude=bogus", f"{a}?exclude=bogus"),
            ("account format=msgpack", f"{a}?format=msgpack"),
            ("account of the creator format=msgpack", f"{c}?format=msgpack"),
            ("account format=xml", f"{a}?format=xml"),
            ("holding", f"{a}/assets/{self.asset}"),
            ("holding format=msgpack", f"{a}/assets/{self.asset}?format=msgpack"),
            ("holding of the creator", f"{c}/assets/{self.asset}"),
            ("holding that was closed", f"{node.address('B')}/assets/{self.asset}"),
            ("holding of an unknown asset", f"{a}/assets/{_UNKNOWN_ASSET}"),
            ("holding of asset 0", f"{a}/assets/0"),
            ("holding of asset abc", f"{a}/assets/abc"),
            ("holdings", f"{a}/assets"),
            ("holdings limit=0", f"{a}/assets?limit=0"),
            ("holdings limit=1001", f"{a}/assets?limit=1001"),
            ("account's application 1", f"{a}/applications/1"),
        ):
            ask(name, "GET", f"/v2/accounts/{path}")
        spare = a[:-1] + _ALPHABET[_ALPHABET.index(a[-1]) ^ 1]
        for name, text in (
            ("short", "ABC"),
            ("in lower case", a.lower()),
            ("with a wrong checksum", "B" + a[1:]),
            ("with other spare bits", spare),
            ("without a checksum", "A" * 58),
            ("of 59 letters", f"{a}A"),
        ):
            node.name(text, f"<address {name}>")
            ask(f"address {name}", "GET", f"/v2/accounts/{text}")
            ask(f"holding, address {name}", "GET", f"/v2/accounts/{text}/assets/{self.asset}")

    def assets(self) -> None:
        """Assets, by numbers that are spelled in many ways."""
        ask = self.node.ask
        for name, text in (
            ("asset", f"{self.asset}"),
            ("asset with a zero before it", f"0{self.asset}"),
            ("asset with a plus before it", f"%2B{self.asset}"),
            ("asset unknown", f"{_UNKNOWN_ASSET}"),
            ("asset 0", "0"),
            ("asset abc", "abc"),
            ("asset -1", "-1"),
            ("asset 1.0", "1.0"),
            ("asset 0x1", "0x1"),
            ("asset 2^63", str(2**63)),
            ("asset 2^64", str(2**64)),
        ):
            ask(name, "GET", f"/v2/assets/{text}")
        ask("application 1", "GET", "/v2/applications/1")
        ask("application abc", "GET", "/v2/applications/abc")

    def blocks(self) -> None:
        """Blocks, whole and in part."""
        node, ask = self.node, self.node.ask
        landed_round = int(node.wait(self.last_id)["confirmed-round"])
        node.name(f"blocks/{landed_round}", "blocks/<round>")
        for query in (
            "",
            "?format=json",
            "?format=msgpack",
            "?format=xml",
            "?header-only=true",
            "?header-only=TRUE",
            "?header-only=1",
            "?header-only=false",
            "?header-only=yes",
            "?header-only=bogus",
        ):
            ask(f"block{query}", "GET", f"/v2/blocks/{landed_round}{query}")
        ask("block hash", "GET", f"/v2/blocks/{landed_round}/hash")
        ask("block txids", "GET", f"/v2/blocks/{landed_round}/txids")
        ask("block logs", "GET", f"/v2/blocks/{landed_round}/logs")
        for text in ("abc", "-1", "1.5", str(2**63), str(2**64)):
            ask(f"block {text}", "GET", f"/v2/blocks/{text}")
            ask(f"block {text} txids", "GET", f"/v2/blocks/{text}/txids")
        future = node.round + 1000
        node.name(str(future), "<future round>")
        for name, more in (("", ""), (" hash", "/hash"), (" txids", "/txids")):
            ask(f"block of the future{name}", "GET", f"/v2/blocks/{future}{more}")

    def simulate(self) -> None:
        """Simulated groups."""
        node, path = self.node, "/v2/transactions/simulate"
        key = node.key("A")
        good = self.transfer("A", "A", note=b"simulated")
        low = self.transfer("A", "A", params=node.params(fee=500), note=b"simulated")
        bad = self.transfer("A", "B", note=b"simulated")
        for name, transfer in (("", good), (" that fails", bad), (" with a low fee", low)):
            node.name(transfer.get_txid(), f"<id of simulated{name}>")
            members = msgpack.unpackb(raw(sign_transaction(key, transfer)), raw=False)
            body = _pack({"txn-groups": [{"txns": [members]}]})
            node.ask(f"simulate{name}", "POST", path, body)
            node.ask(f"simulate{name} format=msgpack", "POST", f"{path}?format=msgpack", body)
        bare_transaction = {"txn": msgpack.unpackb(raw(sign_transaction(key, good)), raw=False)["txn"]}
        fees = (self.transfer("A", "A", params=node.params(fee=fee), note=b"s") for fee in (900, 901))
        pair = transaction.assign_group_id(list(fees))
        members = [msgpack.unpackb(raw(sign_transaction(key, one)), raw=False) for one in pair]
        node.ask("simulate a group with low fees", "POST", path, _pack({"txn-groups": [{"txns": members}]}))
        node.ask("simulate half of a group", "POST", path, _pack({"txn-groups": [{"txns": members[:1]}]}))
        wrong = [{**members[0], "sig": members[1]["sig"]}, members[1]]
        node.ask("simulate a wrong signature", "POST", path, _pack({"txn-groups": [{"txns": wrong}]}))
        node.ask("simulate unsigned", "POST", path, _pack({"txn-groups": [{"txns": [bare_transaction]}]}))
        simulate_request = {"txn-groups": [{"txns": [bare_transaction]}], "allow-empty-signatures": True}
        node.ask("simulate unsigned, allowed", "POST", path, _pack(simulate_request))
        node.ask("simulate no group", "POST", path, _pack({"txn-groups": []}))
        node.ask("simulate an empty group", "POST", path, _pack({"txn-groups": [{"txns": []}]}))
        node.ask("simulate garbage", "POST", path, b"xx")

    # When blocks come, and with which time.

    def show_landing(self) -> None:
        """How many rounds after the newest one a payment lands, of a payment while whose submission no block came."""
        node = self.node
        for number in range(200):
            payment = self.payment("A", "A", 0, note=number.to_bytes(2))
            data = raw(sign_transaction(node.key("A"), payment))
            before = node.round
            is_taken = node.call("POST", "/v2/transactions", data, BINARY)[0] == 200
            after = node.round
            landed_round = int(node.wait(payment.get_txid())["confirmed-round"])
            if is_taken and (after == before or landed_round == after == before + 1):
                node.note(
                    "rounds until a payment lands",
                    "confirmed-round less last-round at submission",
                    landed_round - before,
                )
                return
        raise AssertionError("a block came during each submission")

    def idle(self) -> None:
        """How much later the next block is than the one before, after a minute without a transaction."""
        node = self.node
        before, start_round = self._newest_time(), node.round
        self.pass_time(IDLE_SECONDS)
        node.ask("GET /ready after an idle minute", "GET", "/ready")
        node.ask("status after an idle minute", "GET", "/v2/status")
        blocks = node.round - start_round
        node.send("payment after an idle minute", self.payment("A", "A", 0, note=b"idle"), "A")
        node.note("blocks of an idle node", "blocks in a minute without a transaction", "many" if blocks else "none")
        step = "60 s or more" if self._newest_time() - before >= IDLE_SECONDS else f"{self._newest_time() - before} s"
        node.note("block time after an idle minute", "time of the next block after that of the last", step)

    def _newest_time(self) -> int:
        return int(self.node.json(f"/v2/blocks/{self.node.round}")["block"]["ts"])


def _pack(value: dict[str, Any], *, in_order: bool = True) -> bytes:
    packed_bytes: bytes = msgpack.packb(_in_order(value) if in_order else value, use_bin_type=True)
    return packed_bytes


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _in_order(value[name]) for name in sorted(value)}
    return [_in_order(member) for member in value] if isinstance(value, list) else value
