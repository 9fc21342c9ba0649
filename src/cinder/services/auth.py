"""Authentication and authorization: tokens, and what each lets its caller fetch and read."""

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog

from cinder.errors import CacheFailed, FieldProblem, Forbidden, InvalidRequest, RateLimited
from cinder.models.caller import (
    EVERYDAY_SCOPES,
    OAUTH_ID_PREFIX,
    OWNER_CALLER,
    Caller,
    CallerPolicy,
    Token,
    TokenScope,
    require_domain,
)
from cinder.models.request import Profile, ScrapeRequest
from cinder.store.tokens import TokenStore, TokenTaken

KNOWN_SECONDS = 5.0
"""How long a revoked token stays valid in other processes."""

_PREFIX = "cinder_"
_ID_PREFIX = "tok_"
_SECRET = re.compile(rf"{_PREFIX}[A-Za-z0-9_-]{{43}}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NOTE_SECONDS = 60.0
_MAX_KNOWN = 10_000

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token, with the secret that is never shown again."""

    token: Token
    secret: str


class TokenService:
    """Creates and revokes tokens, and identifies the caller of one."""

    def __init__(
        self, tokens: TokenStore, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._tokens = tokens
        self._clock = clock
        # By the hash of the secret, and by the id: the token, and when it expires from the cache.
        self._known: dict[str, tuple[Token, float]] = {}
        self._noted: dict[str, float] = {}

    async def create(
        self, name: str, scopes: Collection[TokenScope], policy: CallerPolicy | None = None
    ) -> NewToken:
        """Create a token.

        Raises:
            InvalidRequest: the name is not valid, or another token has it.
        """
        if not _NAME.fullmatch(name):
            message = "Use up to 64 letters, digits, dots, dashes and underscores"
            raise InvalidRequest(problems=(FieldProblem("name", message),))
        secret = _PREFIX + secrets.token_urlsafe(32)
        token = Token(
            id=_ID_PREFIX + secrets.token_hex(8),
            name=name,
            scopes=frozenset(scopes),
            policy=policy or CallerPolicy(),
            created_at=self._clock(),
        )
        try:
            await self._tokens.add(token, _hash(secret))
        except TokenTaken:
            message = f"There is a token {name!r} already: revoke it first, or choose another name"
            raise InvalidRequest(problems=(FieldProblem("name", message),)) from None
        return NewToken(token, secret)

    async def list_tokens(self) -> list[Token]:
        """Return all tokens, by name."""
        return await self._tokens.list_all()

    async def revoke(self, name: str) -> bool:
        """Revoke a token, at once here and within seconds elsewhere; False if there is none."""
        self._known.clear()
        return await self._tokens.remove(name)

    async def identify(self, secret: str) -> Caller | None:
        """Return the caller with this secret; None if there is none."""
        if not _SECRET.fullmatch(secret):
            return None
        hashed = _hash(secret)
        token = self._recall(hashed) or await self._tokens.find(hashed)
        if token is None:
            return None
        self._remember(hashed, token)
        now = time.monotonic()
        if now >= self._noted.get(token.id, 0.0):
            self._noted[token.id] = now + _NOTE_SECONDS
            try:
                await self._tokens.note_use(token.id)
            except CacheFailed as error:
                # The request is answered all the same.
                log.warning("a token's use was not noted", token=token.name, error=error.message)
        return token.caller

    async def authorize(self, request: ScrapeRequest) -> CallerPolicy:
        """Return the policy of the token that a page is requested with.

        Raises:
            Forbidden: the token does not allow the page, or was revoked.
        """
        caller = await self._find(request.caller)
        if request.render.profile is Profile.MASTER and not caller.may(TokenScope.ADMIN):
            raise Forbidden(
                "The profile 'master' is logged in as the owner of this server: only a token with "
                "the scope 'admin' may use it.",
                url=request.url,
            )
        require_domain(caller.policy, request.url)
        return caller.policy

    async def policy_of(self, caller_id: str) -> CallerPolicy:
        """Return the policy of a caller's token.

        Raises:
            Forbidden: it was revoked.
        """
        return (await self._find(caller_id)).policy

    async def _find(self, caller_id: str) -> Caller:
        if caller_id.startswith(OAUTH_ID_PREFIX):
            # OAuth tokens are not stored: the surfaces have checked their scopes.
            return Caller(id=caller_id, scopes=frozenset(EVERYDAY_SCOPES))
        if not caller_id.startswith(_ID_PREFIX):
            # The owner, or a name that the owner uses with cinder as a library.
            return OWNER_CALLER
        token = self._recall(caller_id) or await self._tokens.find_by_id(caller_id)
        if token is None:
            raise Forbidden("The token that this was asked with has been revoked.")
        self._remember(caller_id, token)
        return token.caller

    async def spend_page(self, caller_id: str, policy: CallerPolicy) -> None:
        """Count a page against the caller's daily limit, before it is fetched.

        Raises:
            RateLimited: the limit is reached.
        """
        most = policy.pages_per_day
        if most is None:
            return
        now = self._clock().astimezone(UTC)
        if await self._tokens.spend_page(caller_id, now.date(), most):
            return
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        raise RateLimited(
            f"This token may have {most} pages fetched a day, and has had them. The next day "
            f"begins at {midnight:%Y-%m-%d %H:%M} UTC.",
            retry_after_seconds=max(1, int((midnight - now).total_seconds())),
        )

    def _recall(self, key: str) -> Token | None:
        token, until = self._known.get(key, (None, 0.0))
        return token if time.monotonic() < until else None

    def _remember(self, key: str, token: Token) -> None:
        if self._recall(key) is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[key] = (token, time.monotonic() + KNOWN_SECONDS)


def _hash(secret: str) -> str:
    # The secret has 256 random bits, so that a plain hash is enough.
    return hashlib.sha256(secret.encode()).hexdigest()
