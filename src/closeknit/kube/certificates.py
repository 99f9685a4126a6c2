"""Certificates for servers of ours, each signed by an authority of its own whose key nobody keeps."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SKEW = timedelta(minutes=5)
"""By so much a certificate begins before it was made, for clocks that are behind."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a server shows, and what a client trusts; both are PEM."""

    chain: bytes
    key: bytes
    authority: bytes

    @property
    def begins(self) -> datetime:
        """From when on it is valid."""
        return self._shown().not_valid_before_utc

    @property
    def ends(self) -> datetime:
        """Until when it is valid."""
        return self._shown().not_valid_after_utc

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names and addresses under which it may be shown."""
        names = self._shown().extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return tuple(str(name.value) for name in names)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Show it from now on, in connections to come."""
        # The library reads certificates from files only; this one is gone again in a moment.
        descriptor, name = tempfile.mkstemp(suffix=".pem")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.key + self.chain)
            context.load_cert_chain(name)
        finally:
            Path(name).unlink()

    def _shown(self) -> x509.Certificate:
        return x509.load_pem_x509_certificates(self.chain)[0]

    def server_context(self) -> ssl.SSLContext:
        """TLS for a server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.load_into(context)
        return context


def certificate(
    *hosts: str, issuer: str = "closeknit embedded cluster", days: int = 365, now: datetime | None = None
) -> Certificate:
    """A certificate for these hosts, signed by an authority of its own, whose key is thrown away."""
    now = now or datetime.now(UTC)
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)])
    authority = (
        x509.CertificateBuilder()
        .subject_name(authority_name)
        .issuer_name(authority_name)
        .public_key(authority_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    shown = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])]))
        .issuer_name(authority_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return Certificate(
        chain=shown.public_bytes(pem),
        key=key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        authority=authority.public_bytes(pem),
    )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
