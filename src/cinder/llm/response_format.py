"""Negotiates which response format an endpoint supports: JSON Schema, JSON object or prompt."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.fair_queue import NO_CALLER
from cinder.llm.base import Budget, BudgetLimits, FinishReason, FormatRefused
from cinder.llm.endpoint import Endpoint
from cinder.llm.schema_forms import SchemaForms, build_schema_forms
from cinder.llm.wire_format import ResponseFormat, WireCall, find_json
from cinder.metrics import Metrics
from cinder.models.document import Json

_TRIAL_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_TRIAL_CHOICES = ("red", "green", None)
_TRIAL_TOKENS = 1_000
_TRIAL_CALLS = 16
_MAX_REMEMBERED = 1_000

_log: FilteringBoundLogger = structlog.get_logger()


class ResponseFormatNegotiator:
    """Finds the most reliable response format that an endpoint supports.

    A small trial prompt finds it, since a server may accept a format and ignore it. The trial does
    not use the request's budget, which would otherwise depend on which request came first.
    """

    def __init__(self, endpoint: Endpoint, metrics: Metrics, max_output_tokens: int) -> None:
        self._endpoint = endpoint
        self._metrics = metrics
        self._max_output_tokens = max_output_tokens
        self._best: ResponseFormat | None = None
        self._weaker: OrderedDict[bytes, ResponseFormat] = OrderedDict()
        self._lock = asyncio.Lock()

    async def find_best(self, forms: SchemaForms, budget: Budget) -> ResponseFormat:
        """Return the format to ask in for JSON of a schema, within the time of a budget.

        Raises:
            ModelFailed: the endpoint does not answer; nothing is remembered then.
        """
        async with budget.limiting_time(), self._lock:
            if self._best is None:
                self._best = await self._try_formats(budget.seconds_left)
                _log.info("a language model takes structured output", format=self._best.value)
        return forms.fitting(self._weaker.get(forms.digest, self._best))

    def step_down(self, format_: ResponseFormat) -> ResponseFormat | None:
        """Return the next weaker format, and count the fallback; None after the last."""
        formats = list(ResponseFormat)
        weaker = formats[formats.index(format_) + 1 :]
        if not weaker:
            return None
        self._metrics.model_fallbacks.labels(format_.value).inc()
        return weaker[0]

    def remember(self, forms: SchemaForms, format_: ResponseFormat) -> None:
        """Start with this format for the same schema: the endpoint refused the better ones."""
        self._weaker[forms.digest] = format_
        if len(self._weaker) > _MAX_REMEMBERED:
            self._weaker.popitem(last=False)

    async def _try_formats(self, seconds: float) -> ResponseFormat:
        forms = build_schema_forms(_TRIAL_SCHEMA)
        tokens = _TRIAL_CALLS * (self._max_output_tokens + _TRIAL_TOKENS)
        # All callers benefit from the result, so the trial counts for none of them.
        limits = BudgetLimits(calls=_TRIAL_CALLS, tokens=tokens, seconds=seconds)
        budget = Budget(limits, caller=NO_CALLER)
        for format_ in ResponseFormat:
            call = WireCall(
                user="What is the colour of fresh grass?",
                system="",
                # The full limit: a model that reasons first needs room for it.
                max_output_tokens=self._max_output_tokens,
                requested=forms.requested(format_),
            )
            try:
                answer = await self._endpoint.ask(call, budget)
            except FormatRefused:
                if format_ is ResponseFormat.PROMPT:
                    raise
            else:
                is_whole = answer.finish_reason is FinishReason.STOP
                if format_ is ResponseFormat.PROMPT or (
                    is_whole and _is_honoured(format_, answer.text)
                ):
                    return format_
            self.step_down(format_)
        return ResponseFormat.PROMPT


def _is_honoured(format_: ResponseFormat, text: str) -> bool:
    """Whether an answer is what the format promises, although the prompt did not ask for it."""
    try:
        value = find_json(text)
    except ValueError:
        return False
    if format_ is ResponseFormat.JSON_OBJECT:
        return isinstance(value, dict)
    return isinstance(value, dict) and value.get("colour", "") in _TRIAL_CHOICES
