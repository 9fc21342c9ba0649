"""A provider's server: its URLs, the requests to it, and the messages of its failures."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Never, Self
from urllib.parse import quote, urlencode

import can_ada
import structlog
from structlog.typing import FilteringBoundLogger

from cinder import __version__
from cinder.errors import CinderError
from cinder.models.document import Json
from cinder.models.http import HttpResponse, read_retry_after
from cinder.models.redaction import hide_address
from cinder.models.url import origin_of, parse_web_url
from cinder.search.base import ProviderFailed, SearchHttpClient

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_AFTER_AUTHORITY = re.compile(r"[/\\?#]")


def parse_base_url(text: str) -> str:
    """Return the canonical URL that parameters can be added to.

    Raises:
        ValueError: it is not a web URL, or has parameters of its own.
    """
    url = parse_web_url(text)
    parsed = can_ada.parse(url)
    if parsed.search or parsed.hash:
        raise ValueError("It must have no parameters of its own: nothing after ? or #")
    return url


def with_parameters(base: str, parameters: Mapping[str, str]) -> str:
    """Return a URL with parameters added, all of them escaped.

    Raises:
        ValueError: it is too long.
    """
    return parse_web_url(f"{base}?{encode_form(parameters).decode()}")


def encode_form(fields: Mapping[str, str]) -> bytes:
    """Encode fields as a form does."""
    return urlencode(fields, errors="replace", quote_via=quote, safe="").encode()


@dataclass(frozen=True, slots=True)
class QueryUrlTemplate:
    """A URL with `{names}` in its path or parameters, which values replace."""

    text: str
    names: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a template.

        Raises:
            ValueError: it is not a web URL, or a name is part of the host.
        """
        text = text.strip().partition("#")[0]
        scheme, separator, rest = text.partition("://")
        authority = _AFTER_AUTHORITY.split(rest, maxsplit=1)[0]
        if not separator or "{" in scheme or "{" in authority:
            raise ValueError("It must begin with https:// or http:// and a host without {…}")
        parse_web_url(_PLACEHOLDER.sub("x", text))
        return cls(text, frozenset(_PLACEHOLDER.findall(text)))

    @property
    def origin(self) -> str:
        """The origin of the URL, which values cannot change."""
        return origin_of(parse_web_url(_PLACEHOLDER.sub("x", self.text)))

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the URL with a value for each name, escaped.

        Raises:
            ValueError: the URL is too long, or a value would lead to another path.
        """
        url = parse_web_url(
            _PLACEHOLDER.sub(
                lambda found: quote(values[found[1]], safe="", errors="replace"), self.text
            )
        )
        # Dots alone, even escaped, are path segments with a meaning.
        if _depth(url) != _depth(parse_web_url(_PLACEHOLDER.sub("x", self.text))):
            raise ValueError("A query of dots would lead to another path")
        return url


def _depth(url: str) -> int:
    return can_ada.parse(url).pathname.count("/")


USER_AGENT = f"cinder/{__version__}"
ACCEPT_JSON = {"User-Agent": USER_AGENT, "Accept": "application/json"}

_MAX_SHOWN_CHARS = 200

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderServer:
    """A provider's server: how to reach it, and how failures name it.

    Callers see the failures, and the address is the owner's: only the log has it.
    """

    client: SearchHttpClient
    title: str
    """Such as `SearXNG`."""
    address: str
    """Its origin, such as `http://127.0.0.1:8888`."""
    setting: str
    """The setting of its address."""
    advice: Mapping[int, str] = field(default_factory=dict)
    """The meaning of statuses, and what to do about them."""

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        """Return the response, whatever its status.

        Raises:
            ProviderFailed: there is none.
        """
        with self._translating_errors(url):
            return await self.client.get(url, headers)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Return the response, whatever its status.

        Raises:
            ProviderFailed: there is none.
        """
        with self._translating_errors(url):
            return await self.client.post(url, body, headers)

    def check(self, answer: HttpResponse) -> None:
        """Return if a response is complete and its status is 200.

        Raises:
            ProviderFailed: it is not.
        """
        status = answer.status
        if status != HTTPStatus.OK:
            meaning = f"it refuses the request; check {self.setting}"
            if status in self.advice:
                meaning = self.advice[status]
            elif 300 <= status < 400:
                # Without the parameters, which may contain the API key.
                target = answer.headers.get("location", "").partition("?")[0][:_MAX_SHOWN_CHARS]
                _log.warning("a search provider redirects", name=self.title, place=target)
                meaning = (
                    "it redirects elsewhere; if that is its address, which the log tells, put it "
                    f"into {self.setting}"
                )
            elif status == HTTPStatus.TOO_MANY_REQUESTS:
                meaning = "it is asked too often; search less often, or name other providers too"
            elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                meaning = "it has troubles of its own; try again later"
            after = read_retry_after(answer.headers.get("retry-after", ""), datetime.now(UTC))
            self.fail(f"answered {status}: {meaning}", retry_after_seconds=after)
        if answer.is_cut:
            self.fail("sent an answer that is too long or broke off; try again later")

    def fail(self, sentence: str, *, retry_after_seconds: float | None = None) -> Never:
        """Log and raise a failure of this server."""
        self._log_failure(self.address, sentence)
        if retry_after_seconds:
            sentence = f"{sentence}. It may be asked again in {retry_after_seconds:.0f} seconds"
        raise ProviderFailed(f"{self.title} {sentence}", retry_after_seconds=retry_after_seconds)

    @contextmanager
    def wording_query(self) -> Iterator[None]:
        """Turn a ValueError about the query into a failure that names this server."""
        try:
            yield
        except ValueError as error:
            reason = hide_address(str(error), self.address)
            raise ProviderFailed(f"The query cannot be sent to {self.title}: {reason}") from error

    def read_json(self, answer: HttpResponse) -> Json:
        """Return the JSON of a response.

        Raises:
            ProviderFailed: it is not JSON.
        """
        try:
            data: Json = json.loads(answer.body)
        except (ValueError, RecursionError):
            kind = answer.headers.get("content-type", "").partition(";")[0] or "something"
            self.fail(f"answered {self.shown(kind)} instead of JSON; check {self.setting}")
        return data

    def shown(self, text: str) -> str:
        """Return a text of this server for a message: one short line without its address."""
        hidden = hide_address(text, self.address)
        return " ".join(hidden[: 2 * _MAX_SHOWN_CHARS].split())[:_MAX_SHOWN_CHARS]

    @contextmanager
    def _translating_errors(self, url: str) -> Iterator[None]:
        try:
            yield
        except CinderError as error:
            reason = error.message.rstrip(".")
            self._log_failure(origin_of(url), f"gave no answer: {reason}")
            raise ProviderFailed(
                f"{self.title} gave no answer: {reason}. Check that it runs and that "
                f"{self.setting} is its address; `cinder doctor` and the log tell which that is"
            ) from error
        except asyncio.CancelledError:
            _log.info("a search provider was given up", name=self.title, address=origin_of(url))
            raise

    def _log_failure(self, address: str, problem: str) -> None:
        _log.warning("a search provider failed", name=self.title, address=address, problem=problem)
