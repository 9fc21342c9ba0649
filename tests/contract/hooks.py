"""What schemathesis is told of cinder: pages and jobs that exist, and which failures are none."""

import itertools
import os
from typing import Any

import schemathesis

from cinder.api.errors import HTTP_STATUS

_PAGE, _CRAWL, _BATCH = (os.environ[f"CONTRACT_{name}"] for name in ("PAGE", "CRAWL", "BATCH"))
_MAY_RENDER = os.environ["CONTRACT_RENDER"] == "1"
_UNEXPECTED = "failed unexpectedly"
# With one of these a page is rendered, which takes a hundred times as long.
_RENDERED = ("actions", "waitFor", "profile", "proxy")

_turns = itertools.count()


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    """Ask for what there is every other time: of what is invented, nothing exists."""
    is_turn = next(_turns) % 2 == 0
    # A job that goes on would be watched until it is over.
    if is_turn or case.path.endswith("/events"):
        _name_job(case)
    # A crawl would go through the whole website each time.
    if is_turn and isinstance(case.body, dict) and case.path != "/v1/crawl":
        _name_pages(case.body)


def _name_job(case: schemathesis.Case[Any]) -> None:
    if isinstance(case.path_parameters.get("id"), str):
        case.path_parameters["id"] = _CRAWL if "/crawl/" in case.path else _BATCH


def _name_pages(body: dict[str, Any]) -> None:
    """Ask for pages and jobs that exist where others are asked for. Any: JSON."""
    if _is_rendered(body) and not _MAY_RENDER:
        return
    if isinstance(body.get("url"), str):
        body["url"] = _PAGE
    if isinstance(body.get("jobId"), str):
        body["jobId"] = _BATCH
    urls = body.get("urls")
    if isinstance(urls, list) and urls and all(isinstance(url, str) for url in urls):
        body["urls"] = [_PAGE, *urls[1:]]


def _is_rendered(body: dict[str, Any]) -> bool:
    """Whether a browser would be needed. Any: JSON."""
    formats = body.get("formats")
    return (
        body.get("mode") == "dynamic"
        or any(body.get(name) for name in _RENDERED)
        or (isinstance(formats, list) and any("creenshot" in str(each) for each in formats))
    )


@schemathesis.check
def no_unexpected_failure(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """A server error says what could not be had, by a code; it is never one of our own."""
    if response.status_code < 500:
        return
    error = response.json().get("error", {})
    assert HTTP_STATUS.get(error.get("code")) == response.status_code, response.text
    assert _UNEXPECTED not in error["message"], response.text
