"""Webhook targets: checked, and given a secret, before a job starts; found again in its spec."""

import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field

from cinder.errors import DnsFailed, EgressBlocked, FieldProblem, Forbidden, InvalidRequest
from cinder.model.headers import check_headers
from cinder.model.job import Job
from cinder.model.url import host_and_port, parse_web_url
from cinder.model.webhook import EventKind, WebhookTarget, read_target
from cinder.services.callers import Callers, may_fetch_from

SPEC_KEY = "webhook"
"""Under which a job's spec has its target; never to be shown."""

_MIN_SECRET, _MAX_SECRET = 16, 256
_OWN_HEADERS = ("content-type", "user-agent")
_OWN_PREFIX = "x-cinder-"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """What a caller asks for."""

    url: str
    secret: str | None = field(default=None, repr=False)
    events: Collection[str] | None = None
    """Names of kinds of events; None for all."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def make_target(options: WebhookOptions, *, default_secret: str | None = None) -> WebhookTarget:
    """Return the target that a caller asks for, with a secret in any case.

    Raises:
        InvalidRequest: something in it cannot be; all of it is named.
    """
    problems = [*_check_url(options.url), *_check_events(options.events)]
    problems += [*_check_secret(options.secret), *_check_headers(options.headers)]
    if problems:
        raise InvalidRequest(problems=tuple(problems))
    given = options.secret or default_secret
    return WebhookTarget(
        url=parse_web_url(options.url),
        secret=given or f"whsec_{secrets.token_urlsafe(32)}",
        events=frozenset(EventKind(name) for name in options.events or EventKind),
        headers=tuple(options.headers.items()),
        is_secret_generated=given is None,
    )


class WebhookCheck:
    """Tells, before a job is started, whether its events may be sent where they are to go."""

    def __init__(self, callers: Callers, judge: Callable[[str, int], Awaitable[None]]) -> None:
        """Take who knows how far tokens go, and what judges a host and port for egress."""
        self._callers = callers
        self._judge = judge

    async def require(self, target: WebhookTarget, caller: str) -> None:
        """Return if events may be sent there. Each delivery is judged again.

        Raises:
            Forbidden: the caller's token is for other domains.
            EgressBlocked: the address is not a public one, and no rule allows it.
        """
        policy = await self._callers.policy_of(caller)
        host, port = host_and_port(target.url)
        if not may_fetch_from(policy, target.url):
            allowed = ", ".join(policy.domains)
            raise Forbidden(f"webhook.url: This token may not reach {host}, only {allowed}.")
        try:
            await self._judge(host, port)
        except EgressBlocked as error:
            raise EgressBlocked(f"webhook.url: {error.message}") from error
        except DnsFailed:
            return  # deliveries are tried for a day: the name may resolve by then


def target_of(job: Job) -> WebhookTarget | None:
    """Return whom a job tells; None where it tells nobody, or has expired."""
    written = job.spec.get(SPEC_KEY)
    return read_target(written) if isinstance(written, dict) else None


def _check_url(url: str) -> list[FieldProblem]:
    try:
        parse_web_url(url)
    except ValueError as error:
        return [FieldProblem("webhook.url", str(error))]
    return []


def _check_events(events: Collection[str] | None) -> list[FieldProblem]:
    known = ", ".join(EventKind)
    if events is not None and not events:
        return [FieldProblem("webhook.events", f"At least one is needed of: {known}")]
    return [
        FieldProblem("webhook.events", f"{name[:50]!r} is none of: {known}")
        for name in events or ()
        if name not in list(EventKind)
    ][:1]


def _check_secret(secret: str | None) -> list[FieldProblem]:
    if secret is None or _MIN_SECRET <= len(secret) <= _MAX_SECRET:
        return []
    message = f"A secret has {_MIN_SECRET} to {_MAX_SECRET} characters"
    return [FieldProblem("webhook.secret", f"{message}; without one, cinder makes one")]


def _check_headers(headers: Mapping[str, str]) -> list[FieldProblem]:
    problems = [
        FieldProblem(f"webhook.{problem.field}", problem.message)
        for problem in check_headers(headers)
    ]
    own = [name for name in headers if _is_own(name)]
    message = "This header is set by cinder and cannot be overridden"
    return problems or [FieldProblem(f"webhook.headers.{name[:100]}", message) for name in own]


def _is_own(name: str) -> bool:
    return name.lower() in _OWN_HEADERS or name.lower().startswith(_OWN_PREFIX)
