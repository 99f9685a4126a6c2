from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from closeknit.admission.certificates import DAYS, Kept, renewed
from closeknit.admission.keeping import InFiles, InSecret, UnusableCertificateError
from closeknit.kube.certificates import Certificate
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.resources import SECRETS
from closeknit.testing.clock import HandClock

HOSTS = ("closeknit-admission.closeknit-system.svc",)
START = datetime(2026, 1, 1, tzinfo=UTC)


def trusts(bundle: bytes, shown: Certificate, now: datetime) -> bool:
    """Whether a client that trusts these authorities accepts the certificate at this time."""
    store = Store(x509.load_pem_x509_certificates(bundle))
    verifier = PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(HOSTS[0]))
    try:
        verifier.verify(x509.load_pem_x509_certificates(shown.chain)[0], [])
    except x509.verification.VerificationError:
        return False
    return True


def test_no_call_is_refused_while_certificates_follow_each_other() -> None:
    """Replicas look at different times, and the API server hears of authorities from any of them, and late."""
    kept = renewed(None, HOSTS, START)
    replicas = [kept.current, kept.current]
    bundles = [kept.bundle] * 3
    shown = {kept.current.chain}
    for minutes in range(0, 3 * DAYS // 2 * 24 * 60, 10):
        now = START + timedelta(minutes=minutes)
        before, kept = kept, renewed(kept, HOSTS, now)
        if kept is not before:
            # Around a change everybody is asked; else nothing can have become wrong but with time.
            shown.add(kept.current.chain)
        bundles = [*bundles[1:], kept.bundle]
        replicas[minutes // 10 % 2] = kept.current
        if kept is not before or minutes % (24 * 60) == 0:
            assert all(trusts(bundles[0], each, now) for each in replicas), now

    # Each serves for two thirds of its time.
    assert len(shown) == 3


@pytest.mark.parametrize(
    ("after", "steps"),
    [
        pytest.param(timedelta(days=1), 0, id="a young certificate stays"),
        pytest.param(timedelta(days=DAYS * 2 / 3 + 1), 1, id="the next is made when a third is left"),
        pytest.param(timedelta(days=DAYS + 1), 1, id="one that has run out is replaced at once"),
    ],
)
def test_when_certificates_are_renewed(after: timedelta, steps: int) -> None:
    first = renewed(None, HOSTS, START)

    then = renewed(first, HOSTS, START + after)

    assert (then != first) == bool(steps)
    assert first.current.authority in then.bundle
    assert trusts(then.bundle, then.current, START + after)


def test_other_hosts_need_another_certificate() -> None:
    first = renewed(None, HOSTS, START)

    then = renewed(first, ("other.svc",), START)

    assert then.current.hosts == ("other.svc",)
    assert first.current.authority in then.bundle


@pytest.mark.parametrize("damage", ["tls.key", "tls.crt", "authority.crt", "next.key"])
def test_what_a_secret_holds_is_read_back_or_made_anew(damage: str) -> None:
    first = renewed(None, HOSTS, START)
    kept = Kept(first.current, renewed(None, HOSTS, START).current, b"")

    assert Kept.read(kept.wire()) == kept
    assert Kept.read({**kept.wire(), damage: b"nonsense"}) is None or damage == "authority.crt"
    assert Kept.read({}) is None


async def test_replicas_that_start_at_once_show_the_same_certificate() -> None:
    cluster, clock = EmbeddedCluster(), HandClock(START)
    replicas = [InSecret(cluster, "default", "certificates", HOSTS, clock) for _ in range(3)]

    kept = [await each.look() for each in replicas]

    assert kept[0] == kept[1] == kept[2]


async def test_replicas_that_renew_at_once_agree() -> None:
    cluster, clock = EmbeddedCluster(), HandClock(START)
    one, other = (InSecret(cluster, "default", "certificates", HOSTS, clock) for _ in range(2))
    await one.look()
    stale = await cluster.get(SECRETS, "certificates", namespace="default")
    await clock.advance(DAYS * 24 * 3600 * 0.7)
    renewed_by_one = await one.look()

    # The other has read the Secret before, and writes after.
    with pytest.raises(Exception, match="modified"):
        await other._write(stale, renewed(None, HOSTS, clock.now()))

    assert renewed_by_one.next is not None
    assert await other.look() == renewed_by_one


async def test_a_secret_that_somebody_has_spoilt_is_made_anew() -> None:
    cluster, clock = EmbeddedCluster(), HandClock(START)
    keeper = InSecret(cluster, "default", "certificates", HOSTS, clock)
    await keeper.look()
    found = await cluster.get(SECRETS, "certificates", namespace="default")
    await cluster.replace(SECRETS, {**found, "data": {"tls.crt": base64.b64encode(b"?").decode()}})

    kept = await keeper.look()

    assert trusts(kept.bundle, kept.current, START)


async def test_files_of_others_are_shown_as_they_are(tmp_path: Path) -> None:
    made = renewed(None, HOSTS, START).current
    for name, content in (("tls.crt", made.chain), ("tls.key", made.key), ("ca.crt", made.authority)):
        (tmp_path / name).write_bytes(content)

    assert (await InFiles(tmp_path).look()).current == made

    (tmp_path / "tls.key").write_bytes(renewed(None, HOSTS, START).current.key)
    with pytest.raises(UnusableCertificateError, match=r"tls\.crt .*tls\.key"):
        await InFiles(tmp_path).look()
