"""The one key and certificate that a GPU host and all who use it share: each proves itself by it (TLS).

Whoever holds them may run code on the host, so a page on the same machine gets new ones over a pipe, and
others get a copy of a folder that only its owner can read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed.security import Security

CERTIFICATE, KEY = "certificate.pem", "key.pem"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Both in PEM."""

    certificate: str
    key: str


def new_certificates() -> Certificates:
    """Signed by themselves, good for a year. Needs the cryptography package."""
    from distributed.security import Security

    made = Security.temporary()
    return Certificates(certificate=made.tls_ca_file, key=made.tls_client_key)


def read_certificates(folder: Path) -> Certificates:
    """Those of a folder. Raises OSError where there are none."""
    return Certificates((folder / CERTIFICATE).read_text(), (folder / KEY).read_text())


def kept_certificates(folder: Path) -> Certificates:
    """Those of a folder, made there first where there are none."""
    if not (folder / KEY).exists():
        made = new_certificates()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / KEY).touch(mode=0o600)
        (folder / KEY).write_text(made.key)
        (folder / CERTIFICATE).write_text(made.certificate)
    return read_certificates(folder)


def security_of(certificates: Certificates) -> Security:
    """What distributed takes, for each of its roles."""
    from distributed.security import Security

    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=certificates.certificate,
        **{f"tls_{role}_cert": certificates.certificate for role in roles},
        **{f"tls_{role}_key": certificates.key for role in roles},
    )
