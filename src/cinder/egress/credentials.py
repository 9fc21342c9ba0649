"""Credentials as proxies take them: a name and a password in a Proxy-Authorization header."""

import secrets
from base64 import b64decode, b64encode
from hmac import compare_digest
from typing import NamedTuple, Self


class Credentials(NamedTuple):
    """A name and the password that goes with it."""

    user: str
    password: str

    @classmethod
    def generate(cls) -> Self:
        """Make credentials that nobody can guess."""
        return cls(secrets.token_hex(16), secrets.token_urlsafe(24))

    def to_header(self) -> bytes:
        """Return them as the value of a Proxy-Authorization header."""
        return b"Basic " + b64encode(f"{self.user}:{self.password}".encode())

    def has_password(self, password: bytes) -> bool:
        """Whether this is the password, without telling by the time it takes how much of it is."""
        return compare_digest(password, self.password.encode())


def read_authorization(value: bytes) -> tuple[bytes, bytes] | None:
    """Return the name and password in a Proxy-Authorization header; None if it has none."""
    scheme, _, encoded = value.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        decoded = b64decode(encoded.strip(), validate=True)
    except ValueError:
        return None
    user, _, password = decoded.partition(b":")
    return user, password
