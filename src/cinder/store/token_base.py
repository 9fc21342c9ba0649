"""The protocol of what is kept of tokens: who they stand for, and what they have used up."""

from datetime import date
from typing import Protocol

from cinder.model.caller import Token


class TokenTaken(ValueError):
    """There is a token of this name already."""


class TokenStore(Protocol):
    """Keeps tokens by the hash of their secret.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def add(self, token: Token, secret_hash: str) -> None:
        """Keep a new token.

        Raises:
            TokenTaken: another has its name.
        """
        ...

    async def find(self, secret_hash: str) -> Token | None:
        """Return the token with this secret; None where there is none."""
        ...

    async def find_by_id(self, token_id: str) -> Token | None:
        """Return the token of this id; None where there is none, or none any more."""
        ...

    async def list_all(self) -> list[Token]:
        """Return all tokens, by name."""
        ...

    async def remove(self, name: str) -> bool:
        """Delete the token of this name; False where there is none."""
        ...

    async def note_use(self, token_id: str) -> None:
        """Note that a token has just been used."""
        ...

    async def spend_page(self, token_id: str, day: date, most: int) -> bool:
        """Count one page to a day; False, and nothing counted, where the day has had so many."""
        ...
