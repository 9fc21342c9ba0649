"""What a model's server means by an answer that is none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

from cinder.llm.failures import ContextTooLong, FormatRefused, ModelFailed
from cinder.llm.wire import Dialect
from cinder.model.document import Json
from cinder.model.http import HttpAnswer
from cinder.model.redaction import hide_address

SETTING = "llm.base-url (CINDER_LLM__BASE_URL)"

_KEY = "llm.api-key (CINDER_LLM__API_KEY)"
_MODEL = "llm.model (CINDER_LLM__MODEL)"
_MAX_SHOWN_CHARS = 200
_MAX_READ_CHARS = 4_000

_EVER_TOO_LONG = ("request too large", "request_too_large")
_TOO_LONG = (
    *_EVER_TOO_LONG,
    "context_length_exceeded",
    "exceed_context_size",
    "context length",
    "context size",
    "context window",
    "context limit",
    "prompt is too long",
    "input is too long",
    "input token count",
    "too many tokens",
    "reduce the length",
)
_UNPAID = ("insufficient_quota", "billing", "credit balance", "insufficient credits")
_UNSHAPED = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.NOT_IMPLEMENTED,
)
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_RETRIED = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
    # Anthropic's, for "overloaded".
    529,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer that is none."""

    status: int
    said: str
    """What the server says of it, as far as it was read."""

    @property
    def is_too_long(self) -> bool:
        """Whether the prompt is longer than the model reads."""
        if self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return True
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            # Of tokens too it tells how many a minute may have; but some requests never fit.
            return self._says(_EVER_TOO_LONG)
        return self.status >= HTTPStatus.BAD_REQUEST and self._says(_TOO_LONG)

    @property
    def is_retryable(self) -> bool:
        """Whether another try may go better."""
        return self.status in _RETRIED and not self.is_too_long and not self._says(_UNPAID)

    def adapt(self, dialect: Dialect) -> Dialect | None:
        """Return the dialect that the server asks for instead; None where it asks for none."""
        if self.status not in _UNSHAPED or self.is_too_long:
            return None
        limit = "max_completion_tokens"
        if dialect.limit_name != limit and self._says((limit,)):
            return replace(dialect, limit_name=limit)
        if dialect.sends_temperature and self._says(("temperature",)):
            return replace(dialect, sends_temperature=False)
        return None

    def to_error(self, title: str, key: str | None, address: str) -> ModelFailed:
        """Return what is wrong and what to do; neither key nor address stands anywhere in it."""
        if self.is_too_long:
            return ContextTooLong(
                f"{title} cannot read a prompt this long (it answered {self.status}). Send less, "
                "or choose a model with a larger context"
            )
        kind = FormatRefused if self.status in _UNSHAPED else ModelFailed
        return kind(f"{title} answered {self.status}: {self._meaning(key, address)}")

    def _meaning(self, key: str | None, address: str) -> str:
        if self._says(_UNPAID):
            return "the account has no credit left; top it up with the provider"
        if self.status in _REFUSED:
            return f"it refuses the key; check {_KEY}"
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            return "it is asked too often; ask less often, or lower llm.max-concurrency"
        if self.status == HTTPStatus.NOT_FOUND:
            return f"there is no such model or no such path; check {_MODEL} and {SETTING}"
        if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "it has troubles of its own; try again later"
        if HTTPStatus.MULTIPLE_CHOICES <= self.status < HTTPStatus.BAD_REQUEST:
            return f"it redirects elsewhere; check {SETTING}"
        return f"it refuses the request; check {_MODEL}. It says: {self._shown(key, address)}"

    def _says(self, words: tuple[str, ...]) -> bool:
        said = self.said.lower()
        return any(word in said for word in words)

    def _shown(self, key: str | None, address: str) -> str:
        said = hide_address(self.said, address)
        said = said.replace(key, "…") if key else said
        return " ".join(said.split())[:_MAX_SHOWN_CHARS] or "nothing"


def find_refusal(answer: HttpAnswer, body: Json) -> Refusal | None:
    """Return what is wrong with an answer, if anything.

    Some gateways send errors with the status 200, and the true one in the body.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    if answer.status == HTTPStatus.OK and error is None:
        return None
    status = answer.status
    if status == HTTPStatus.OK:
        told = error.get("code") if isinstance(error, Mapping) else None
        is_status = isinstance(told, int) and HTTPStatus.BAD_REQUEST <= told < 600
        status = told if isinstance(told, int) and is_status else HTTPStatus.BAD_GATEWAY
    return Refusal(status=status, said=_words(answer, error))


def _words(answer: HttpAnswer, error: Json) -> str:
    if isinstance(error, Mapping):
        parts = (error.get(name) for name in ("message", "type", "code", "param"))
        return " · ".join(str(part) for part in parts if part)[:_MAX_READ_CHARS]
    if error is not None:
        return json.dumps(error)[:_MAX_READ_CHARS]
    return answer.body[:_MAX_READ_CHARS].decode(errors="replace")
