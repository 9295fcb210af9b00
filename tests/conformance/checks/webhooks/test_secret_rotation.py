"""What the check of rotated secrets makes of senders that sign with the newest secret, and of such that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDictProxy

from conformance.checks.webhooks import secret_rotation
from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import Link
from tests.conformance.checks.webhooks.scripted_sender import Attempt, Flaws, Place, header, run_check
from tests.conformance.checks.webhooks.test_destination_selection import Administered

CHECK, ROW = "a_rotated_secret_signs_no_more", "WH-SIG-04"

pytestmark = pytest.mark.usefixtures("quick_service")


@pytest.fixture(autouse=True)
def quick_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_rotation, "_CACHE_SECONDS", 0.0)


@dataclass
class Rotating(Administered):
    """A shop whose administrator can also rotate the secret of a destination."""

    rotation_status: int = 201
    rotated: list[str] = field(default_factory=list)

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        if not urlsplit(url).path.endswith("/rotate"):
            return await super().send(method, url, headers, body)
        if self.rotation_status >= 300:
            return self._answer(self.rotation_status, {"error": "not_found", "message": "No such call."})
        self.rotated.append(f"weldw_rotated{len(self.rotated)}")
        self.made[0] = replace(self.made[0], secret=self.rotated[-1])
        return self._answer(self.rotation_status, {"secret": self.rotated[-1]})


Signer = Callable[[Rotating], str]


def newest(shop: Rotating) -> str:
    """Return the secret that was shown last."""
    return shop.made[0].secret


def first(shop: Rotating) -> str:
    """Return the secret that was shown when the destination was made, as a sender that keeps it in memory does."""
    del shop
    return "weldw_own0"


def one_behind(shop: Rotating) -> str:
    """Return the newest secret after the first rotation, and that one after the second, too."""
    return ["weldw_own0", *shop.rotated][min(len(shop.rotated), 1)]


def unknown(shop: Rotating) -> str:
    """Return, after a rotation, a secret that was never shown."""
    return "weldw_another" if shop.rotated else "weldw_own0"


async def verdict(folder: Path, *secrets: Signer, shop: Rotating | None = None, claims: bool = True) -> Verdict:
    """Return the verdict on a shop that signs with these secrets, a v1 for each."""
    sender = shop or Rotating()
    (folder / "admin").write_text("weldc_an-administrators-key")

    def change_profile(text: str) -> str:
        text = text.replace("http://gateway.test", "http://127.0.0.1").replace("paid = 120.0", "paid = 1.0")
        text += f'[gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}\n'
        return text.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["gateway.tenants"]' * claims)

    def places(link: Link, known: Sequence[Place]) -> Iterable[Place]:
        del link, known
        return sender.made

    def sign_twice(attempt: Attempt) -> str:
        now, body = attempt.now, attempt.body
        headers = [header(now, secret(sender), f"{now}.".encode() + body) for secret in secrets]
        return ",".join([headers[0], *(each.partition(",")[2] for each in headers[1:])])

    flaws = Flaws(places=places, header=sign_twice)
    return (await run_check(CHECK, folder, flaws, shop=sender, changed=change_profile))[0][ROW]


@pytest.mark.parametrize("secrets", [(newest,), (first, newest), (newest, first)])
async def test_a_sender_that_signs_with_the_newest_secret_passes(secrets: Sequence[Signer], tmp_path: Path) -> None:
    """A sender may sign with the older secret as well, in a further v1."""
    shop = Rotating()
    assert await verdict(tmp_path, *secrets, shop=shop) is Verdict.PASS
    assert len(shop.rotated) == 2
    assert shop.deleted == {"own0"}


@pytest.mark.parametrize("secret", [first, one_behind])
async def test_a_sender_that_keeps_an_old_secret_is_caught(secret: Signer, tmp_path: Path) -> None:
    """It does not matter at which rotation a sender keeps the secret."""
    assert await verdict(tmp_path, secret) is Verdict.FAIL


async def test_a_secret_that_was_never_shown_decides_nothing(tmp_path: Path) -> None:
    """If v1 verifies with neither secret, the suite cannot tell which rule is broken."""
    assert await verdict(tmp_path, unknown) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_where_no_secret_can_be_rotated_other_checks_decide(status: int, tmp_path: Path) -> None:
    """A gateway without that call is not judged."""
    assert await verdict(tmp_path, first, shop=Rotating(rotation_status=status)) is Verdict.NOT_APPLICABLE


async def test_without_the_claim_nothing_is_asked(tmp_path: Path) -> None:
    """A target that does not claim tenants by an administrator is not judged."""
    assert await verdict(tmp_path, first, claims=False) is Verdict.NOT_APPLICABLE
