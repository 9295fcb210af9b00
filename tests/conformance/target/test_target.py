"""The target profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from conformance.oracles import hash_recipes
from conformance.target import LANES, REFERENCE_GATEWAY, REFERENCE_RAIL, ProfileError, Secret, load, parse
from conformance.target.rail import RequestHash, ResponseHash, SettledRef
from conformance.target.tables import Table
from conformance.vocabulary.profile_claims import IMPLIED_OPTIONS


def test_reference_bindings_apply_only_where_asked_for() -> None:
    """A target that does not say it keeps the reference's names is bound by what its file sets and nothing else."""
    ours = parse('[target]\ndefaults = "reference"\n[rail]\nchallenge_ttl = 60')
    assert ours.rail_bindings == REFERENCE_RAIL.model_copy(update={"challenge_ttl": 60})
    theirs = parse("[rail]\nchallenge_ttl = 60")
    assert theirs.rail_bindings.challenge_ttl == 60
    assert theirs.rail_bindings.services is None
    assert theirs.service_word is None


def test_every_value_that_is_not_a_default_is_told() -> None:
    """The report can print what the verdict rests on."""
    profile = parse('[target]\nname = "theirs"\n[rail]\nscheme = "exact-weld"\n[budgets]\nrequest = 30.0')
    assert dict(profile.non_defaults()) == {"target.name": "theirs", "rail.scheme": "exact-weld"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("version = 2", "version"),
        ("[claims]\nsurfaces = ['rial']", "claims"),
        ("[rail]\nrecept_at = 'body:x'", r"unknown key `recept_at` in \[rail\]; did you mean `receipt_at`"),
        ("[chains.algorand]\nalgod = 'x'\ntoken = { env = 'A', file = 'b' }", "chains.algorand.token"),
        ("[[xfail]]\nid = 'RAIL-402-01'", "entry 1 of xfail"),
        ("not toml", "not TOML"),
        ("[agent]\nverify_body = { body = '{body_base64}' }", r"agent.verify_body: .*did you mean \{body_b64\}"),
        ("[agent]\nsign_body = { a = [ { b = 'x {paht}' } ] }", r"did you mean \{path\}"),
        ("[webhook]\nsigned_string = '{time}.{body}'", r"webhook.signed_string: .*\{time\}"),
        ("[webhook.receiver]\nurl = 'x'\nsecret = { env = 'A' }\neffects = 'http://x/{event_id}'", r"\{id\}"),
        ("[gateway]\nresource_body = { name = 'x-{uniqe}' }", r"did you mean \{unique\}"),
        ("[rail]\na2a_request = { service = '{servce}' }", r"did you mean \{service\}"),
        ("[hub]\nservice_body = { url = '{baseurl}' }", r"did you mean \{base_url\}"),
        ("[hub]\naudit_page = 'after={sequence}'", r"\{seq\}"),
        ("[hub]\nenvironment = { PORT = '{prot}' }", r"did you mean \{port\}"),
    ],
)
def test_a_wrong_profile_names_the_key(text: str, names: str) -> None:
    """A fault in the file is one line that says where."""
    with pytest.raises(ProfileError, match=names):
        parse(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[rail]\nresult_at = 'body'", "rail.result_at.*`body:` for the whole answer"),
        ("[rail]\nresult_at = 'result'", "rail.result_at"),
        ("[rail]\nresult_at = 'header:X-Result'", "rail.result_at"),
        ("[rail]\nresult_at = 'body:a..b'", "rail.result_at"),
        ("[rail]\nreceipt_at = 'receipt'", "rail.receipt_at"),
        ("[rail]\nreceipt_at = 'body:'", "rail.receipt_at"),
        ("[rail.services]\nreceipt-verify = 'verify'", "rail.services.receipt-verify.*/pay/v1/"),
        ("[rail.services]\nreceipt-verify = 'https://rail.example/pay/v1/x'", "rail.services.receipt-verify"),
        ("[rail.bodies]\nreceipt-verify = '{}'", "rail.bodies.receipt-verify.*TOML table"),
        ("[rail.bodies]\nreciept-verify = {}", "reciept-verify.*receipt-verify"),
        ("[rail.other_bodies]\nreceipt-verify = ['{}']", "rail.other_bodies.receipt-verify"),
        ("[rail]\nrequest_hash = 'sha256'", "rail.request_hash.*jcs-envelope"),
        ("[rail]\nsettled_payment_ref = 'tx'", "rail.settled_payment_ref.*payable-core"),
        ("[rail]\ntoken_form = '('", "rail.token_form"),
        ("[rail]\nprice_receipt_verify = '0.01'", "rail.price_receipt_verify"),
        ("[gateway.memo]\nbase = 'note'", "gateway.memo.*calldata"),
        ("[gateway.memo]\nbsae = 'eip3009'", "gateway.memo.*base"),
        ("[gateway.checkout_selectors]\nstatus = '#s'", "gateway.checkout_selectors.*state"),
        ("[gateway.screen_fixtures.BLOCK]\na = 1", "gateway.screen_fixtures.*DENY"),
        ("[gateway.rates]\nEUR = '1,08'", "gateway.rates.EUR"),
        ("[networks.mine]\nnetwork = 'algo'", "networks.mine.network.*base_sepolia"),
    ],
)
def test_a_binding_that_no_row_could_use_names_the_key_and_the_form(text: str, names: str) -> None:
    """No row is decided by it: it is a fault of the profile."""
    with pytest.raises(ProfileError, match=names):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "[rail]\nresult_at = 'body:'\nreceipt_at = 'body:receipts[0].jws'",
        "[rail]\nresult_at = 'body:data.outcome'\nreceipt_at = 'header:PAYMENT-RESPONSE:receipt'",
        "[rail.services]\nweather = '/pay/v1/weather'\n[rail.bodies]\nweather = { place = 'Rome' }",
        "[rail.other_bodies]\nreceipt-verify = [{ jws = 'a' }, { jws = 'b' }]",
    ],
)
def test_usable_bindings_are_taken(text: str) -> None:
    """Each form of the grammar."""
    parse(text)


def test_the_recipes_of_the_grammar_are_those_of_the_oracle() -> None:
    """What may be bound is what can be recomputed."""
    assert set(get_args(RequestHash)) == set(hash_recipes.request_hashes("POST", "/a", "", b"{}", {}, "x"))
    assert set(get_args(ResponseHash)) == set(hash_recipes.response_hashes(b"{}", {}))
    assert set(get_args(SettledRef)) == set(hash_recipes.settled_refs("Word", "tx", "base_mainnet", "token"))


def test_a_shell_s_own_braces_are_no_placeholders() -> None:
    """What a command line is made of may have variables of the shell, which nothing of ours fills in."""
    profile = parse("[hub]\ncommand = ['sh', '-c', 'exec hub ${PORT} {port}']")
    assert profile.hub.command == ("sh", "-c", "exec hub ${PORT} {port}")


def test_secrets_come_by_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is read from its variable or file, and a missing one is named without its value."""
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    assert Secret(file=file).read() == "s3cret"
    monkeypatch.setenv("THEIR_TOKEN", "t0ken")
    assert Secret(env="THEIR_TOKEN").read() == "t0ken"
    monkeypatch.delenv("THEIR_TOKEN")
    with pytest.raises(ProfileError, match="THEIR_TOKEN"):
        Secret(env="THEIR_TOKEN").read()


GATEWAY = """
[target]
defaults = "reference"
[surfaces.gateway]
url = "http://localhost:8090"
[claims]
surfaces = ["gateway"]
[tenants.first]
id = "8b8e9f5e-7d5c-4a4e-9d9c-1f0a0c5b6a11"
key = { file = "first.key" }
[tenants.first.payout]
base_sepolia = "0x1"
algorand_testnet = "A"
[gateway]
edge_url = "http://localhost:8091"
[gateway.chains.base]
network = "base_sepolia"
rpc = "http://127.0.0.1:8546"
[chains.base]
rpc = "http://127.0.0.1:8545"
[chains.solana]
rpc = "http://127.0.0.1:8899"
[limited.gateway]
url = "http://localhost:8092"
offset_file = "clock"
[limited.gateway.tenants.first]
id = "5a7f1f51-52f7-4b7e-93b4-4b7a8f9e2c10"
key = { env = "LIMITED_KEY" }
"""


def test_a_gateway_is_described_with_its_tenants() -> None:
    """Tenants keep the order of their networks, and what the file does not bind has the reference's name."""
    profile = parse(GATEWAY)
    assert list(profile.tenants["first"].payout) == ["base_sepolia", "algorand_testnet"]
    assert profile.gateway_bindings.edge_url == "http://localhost:8091"
    assert profile.gateway_bindings.receipt_member == REFERENCE_GATEWAY.receipt_member == "jws"
    assert profile.limited["gateway"].tenants["first"].key == Secret(env="LIMITED_KEY")
    assert parse("").gateway_bindings.receipt_member is None


def test_a_lane_without_a_node_of_its_own_pays_checkouts_on_the_rails() -> None:
    """Checkout payments go to the gateway's node of a lane, else to the one that the rail is paid on."""
    chains = parse(GATEWAY).gateway_chains
    networks = {lane: table.network for lane in LANES if (table := chains.of(lane)) is not None}
    assert networks == {"base": "base_sepolia", "solana": "solana_mainnet"}


def test_a_networks_spelling_is_told_or_open() -> None:
    """The table of the file says how a link spells a network; without one only the reference's form is known."""
    assert parse(GATEWAY).network_label("base_sepolia") == "base-sepolia"
    assert parse('[networks.base_sepolia]\nlabel = "sepolia-base"').network_label("base_sepolia") == "sepolia-base"
    assert parse("").network_label("base_sepolia") is None


def test_a_network_under_another_key_is_told() -> None:
    """Any usual spelling says which network the target's own key means, and is found from either side."""
    for spelling in ("algorand_testnet", "algorand-testnet", "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe"):
        profile = parse(f'[networks.algo_test]\nnetwork = "{spelling}"')
        assert profile.usual_network("algo_test") == "algorand_testnet"
        assert profile.own_network("algorand_testnet") == "algo_test"
        assert profile.own_network("base_sepolia") == profile.usual_network("base_sepolia") == "base_sepolia"


def test_shared_rows_come_with_any_surface() -> None:
    """What every surface must do is claimed as soon as one of them is."""
    assert parse(GATEWAY).claims_surface("shared")
    assert not parse("").claims_surface("shared")


def test_networks_are_written_in_events_as_the_reference_does_unless_bound() -> None:
    """The reference names Base and Solana as CAIP-2 does; elsewhere the spelling is open until the profile binds it."""
    ours = parse('[target]\ndefaults = "reference"\n')
    network_events = [ours.network_event(key) for key in ("algorand_testnet", "base_sepolia", "no_such")]
    assert network_events == ["algorand:testnet", "eip155:84532", None]
    theirs = parse('[networks.base_sepolia]\nevent = "base:sepolia"\n')
    assert (theirs.network_event("base_sepolia"), theirs.network_event("algorand_testnet")) == ("base:sepolia", None)


# Every key of a profile that is a path, with a file of that name beside the profile.
PATHS = """
[gateway]
receipt_file = "sub/receipt"
[clock]
offset_file = "sub/clock"
[limited.gateway]
url = "http://localhost:1"
offset_file = "sub/limited"
[tls]
cacert = "sub/ca.pem"
[secrets]
further = { file = "sub/secret" }
[tenants.first]
id = "t"
key = { file = "sub/key" }
[webhook.destinations]
first = { url = "http://localhost:1", secret = { file = "sub/webhook" } }
[hub]
token = { file = "sub/token" }
audit_key = { file = "sub/audit" }
postgres = { file = "sub/postgres" }
[chains.algorand]
algod = "http://localhost:1"
token = { file = "sub/algod" }
funder = { file = "sub/funder" }
"""


def paths_in(value: object) -> Iterator[Path]:
    """Yield every path of a profile's model."""
    if isinstance(value, Path):
        yield value
    members = (
        value.values() if isinstance(value, Mapping) else vars(value).values() if isinstance(value, BaseModel) else ()
    )
    for member in members:
        yield from paths_in(member)


def test_paths_are_relative_to_the_folder_of_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the suite is started: each path of the file, secrets too; an absolute one stays as it is."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "weldproof.toml").write_text(PATHS, "utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    profile = load(folder / "weldproof.toml")
    paths_found = list(paths_in(profile))
    assert {one.parent for one in paths_found} == {folder / "sub"}
    assert len(paths_found) == PATHS.count("sub/")
    (folder / "sub").mkdir()
    (folder / "sub" / "token").write_text("a-token", "utf-8")
    assert profile.hub.token is not None
    assert profile.hub.token.read() == "a-token"
    token = load(Path("../profiles/weldproof.toml")).hub.token
    assert token is not None
    assert token.read() == "a-token"
    (folder / "weldproof.toml").write_text(f"[clock]\noffset_file = '{tmp_path}/clock'", "utf-8")
    assert load(folder / "weldproof.toml").clock.offset_file == tmp_path / "clock"


def test_every_path_of_the_models_is_one_of_the_profile() -> None:
    """A path that were read from the working folder would be a field of the plain type."""
    tables = [Table]
    for table in tables:
        tables += table.__subclasses__()
        for name, field in table.model_fields.items():
            assert Path not in (field.annotation, *get_args(field.annotation)), (table, name)


@pytest.mark.parametrize("url", ["127.0.0.1:8402", "localhost", "ftp://localhost", "http://", ""])
def test_an_address_without_scheme_or_host_is_a_fault_of_the_profile(url: str) -> None:
    """Otherwise no call is made, and some checks took that for a fault of the suite."""
    with pytest.raises(ProfileError, match=r"surfaces\.rail\.url: .*http://localhost:8402"):
        parse(f'[surfaces.rail]\nurl = "{url}"')


LOCAL = """
[chains.algorand]
network = "algorand_localnet"
asset = "1001"
algod = "http://127.0.0.1:4001"
"""


def test_a_private_network_names_its_usdc() -> None:
    """The asset of a key that ends in _localnet is known from the profile alone, in any table of nodes."""
    profile = parse(LOCAL)
    assert profile.usdc_of("algorand_localnet") == "1001"
    assert profile.usdc_of("algorand_mainnet") == "31566704"
    assert profile.usdc_of("base_localnet") is None
    assert parse(LOCAL.replace("[chains", "[gateway.chains")).usdc_of("algorand_localnet") == "1001"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LOCAL.replace('asset = "1001"', ""), "give asset"),
        (LOCAL.replace("algorand_localnet", "algorand_testnet"), "leave asset out"),
    ],
)
def test_an_asset_belongs_to_a_private_network_alone(text: str, reason: str) -> None:
    """A private network without its USDC, and another asset for a public network, are faults of the profile."""
    with pytest.raises(ProfileError, match=reason):
        parse(text)


CLAIMED_PROFILE = '[claims]\nspecification = "1"\nsurfaces = ["rail", "gateway"]\noptions = ["rail.a2a"]\n'


def test_who_claims_the_specification_claims_its_options_and_bindings() -> None:
    """The options of the claimed surfaces, next to those that are named. A2A is an option of the specification."""
    claimed_profile = parse(CLAIMED_PROFILE)
    assert claimed_profile.claims.options == ("rail.a2a", *IMPLIED_OPTIONS["rail"], *IMPLIED_OPTIONS["gateway"])
    assert claimed_profile.is_reference
    assert claimed_profile.rail_bindings == parse('[target]\ndefaults = "reference"').rail_bindings
    assert parse(f'{CLAIMED_PROFILE}[rail]\nscheme = "weld"').rail_bindings.scheme == "weld"
    assert parse('[claims]\nspecification = "1"\nsurfaces = ["agent"]').claims.options == ()


def test_a_claim_of_the_specification_adds_no_part_that_the_gateway_lacks() -> None:
    """A gateway that only verifies receipts has no links."""
    text = CLAIMED_PROFILE.replace("rail.a2a", "gateway.receipts_only")
    assert parse(text).claims.options == ("gateway.receipts_only",)


def test_without_the_claim_nothing_is_claimed_and_no_other_version_is_known() -> None:
    """Version 1 is the only one."""
    unclaimed_profile = parse(CLAIMED_PROFILE.replace('specification = "1"\n', ""))
    assert unclaimed_profile.claims.options == ("rail.a2a",)
    assert not unclaimed_profile.is_reference
    with pytest.raises(ProfileError, match=r"claims\.specification"):
        parse(CLAIMED_PROFILE.replace('"1"', '"2"'))
