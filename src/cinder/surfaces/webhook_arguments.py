"""The webhook of a job, as REST takes it beside the job's other arguments."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from cinder.errors import FieldProblem, InvalidRequest
from cinder.model.document import Json
from cinder.model.job import Job
from cinder.model.saved import format_timestamp
from cinder.model.webhook import EventListing, WebhookTarget
from cinder.services.webhook_targets import WebhookOptions, make_target, target_of
from cinder.surfaces.arguments import Arguments, read_body

_NAME = "webhook"


class WebhookArguments(Arguments):
    """Whom to tell how a job goes."""

    url: str
    """Where events are posted."""
    events: list[str] | None = None
    """Which to send, of started, page, completed and failed; all by default."""
    secret: str | None = None
    """What events are signed with; without one, cinder uses or makes one."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers to send along."""


def split_webhook(
    given: object, *, default_secret: str | None
) -> tuple[object, WebhookTarget | None]:
    """Return a request without its webhook, and that.

    Raises:
        InvalidRequest: something is wrong with the webhook.
    """
    if not isinstance(given, Mapping) or given.get(_NAME) is None:
        return given, None
    rest = {name: value for name, value in given.items() if name != _NAME}
    arguments = _read(given[_NAME])
    options = WebhookOptions(
        url=arguments.url,
        secret=arguments.secret,
        events=arguments.events,
        headers=arguments.headers,
    )
    return rest, make_target(options, default_secret=default_secret or None)


def with_secret(answer: dict[str, Json], job: Job, target: WebhookTarget | None) -> dict[str, Json]:
    """Return the answer to a start, with the secret if one was made for this very job."""
    if target is None or not target.is_secret_generated:
        return answer
    kept = target_of(job)
    # A start that was repeated answers with the job that there was, which has its own.
    if kept is None or kept.secret != target.secret:
        return answer
    return {**answer, "webhookSecret": target.secret}


def describe_event(event: EventListing) -> dict[str, Json]:
    """Return an event as REST shows it."""
    return {
        "id": event.id,
        "type": event.type,
        "url": event.url,
        "state": event.state,
        "tries": event.tries,
        "createdAt": format_timestamp(event.created_at),
        "nextTryAt": None if event.next_at is None else format_timestamp(event.next_at),
        "finishedAt": None if event.finished_at is None else format_timestamp(event.finished_at),
        "error": event.error,
    }


def _read(given: Any) -> WebhookArguments:  # Any: whatever a caller sent
    try:
        return read_body(WebhookArguments, given)
    except InvalidRequest as error:
        problems = (
            FieldProblem(
                _NAME if problem.field == "(request)" else f"{_NAME}.{problem.field}",
                problem.message,
            )
            for problem in error.problems
        )
        raise InvalidRequest(problems=tuple(problems)) from None
