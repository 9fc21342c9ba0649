"""The proxy's credentials: whoever else is on this machine must not get out through it."""

import secrets
from base64 import b64decode
from hmac import compare_digest
from typing import NamedTuple, Self


class Credentials(NamedTuple):
    """The name and password that every request to the proxy carries.

    Any name will do: browsers keep apart what they send under different ones.
    """

    user: str
    password: str

    @classmethod
    def generate(cls) -> Self:
        """Make credentials that nobody can guess."""
        return cls("cinder", secrets.token_urlsafe(24))

    def admit(self, authorization: bytes) -> bool:
        """Whether a Proxy-Authorization header's value has the right password."""
        scheme, _, encoded = authorization.partition(b" ")
        if scheme.lower() != b"basic":
            return False
        try:
            decoded = b64decode(encoded.strip(), validate=True)
        except ValueError:
            return False
        return compare_digest(decoded.partition(b":")[2], self.password.encode())
