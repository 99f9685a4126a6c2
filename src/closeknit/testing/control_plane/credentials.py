"""Keys, certificates and tokens of one control plane, made anew for each and gone with it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=7)
_BACKDATED = timedelta(hours=1)
"""How far clocks may differ."""

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class User:
    """Somebody whom the API server knows by a token, and RBAC by name and groups."""

    name: str
    token: str = field(repr=False)
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """The files of a certificate and its key."""

    certificate: Path
    key: Path


class Credentials:
    """Files in one folder: an authority, pairs that it signed, a key for service accounts, and tokens."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "closeknit control plane")])
        self.authority = folder / "ca.crt"
        self.service_account_key = folder / "service-accounts.key"
        self.tokens = folder / "tokens.csv"
        _write(self.authority, _pem(self._certificate(self._subject, self._key, authority=True)))
        _write(self.service_account_key, _key_pem(rsa.generate_private_key(65537, 2048)))
        _write(self.tokens, b"")

    def pair(self, name: str, *, common_name: str, organizations: tuple[str, ...] = ()) -> Pair:
        """A certificate for a server on loopback, and for a client of this user name and these groups."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
            + [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        )
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        _write(pair.certificate, _pem(self._certificate(subject, key, authority=False)))
        _write(pair.key, _key_pem(key))
        return pair

    def user(self, name: str, *groups: str) -> User:
        """A user with a token. The API server reads tokens once, when it starts."""
        user = User(name, secrets.token_urlsafe(32), groups)
        line = f'{user.token},{name},{name},"{",".join(groups)}"\n'
        _write(self.tokens, self.tokens.read_bytes() + line.encode())
        return user

    def _certificate(self, subject: x509.Name, key: PrivateKey, *, authority: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATED)
            .not_valid_after(now + _LIFETIME)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .add_extension(_usage(authority=authority), critical=True)
        )
        if not authority:
            loopback = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
            both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.SubjectAlternativeName(loopback), critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def kubeconfig(address: str, authority: Path, user: User) -> str:
    """A kubeconfig file for one user of one API server."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "closeknit",
                    "cluster": {"server": address, "certificate-authority": str(authority)},
                }
            ],
            "users": [{"name": user.name, "user": {"token": user.token}}],
            "contexts": [{"name": "closeknit", "context": {"cluster": "closeknit", "user": user.name}}],
            "current-context": "closeknit",
        },
        sort_keys=False,
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _write(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read."""
    path.touch(mode=0o600)
    path.write_bytes(content)
