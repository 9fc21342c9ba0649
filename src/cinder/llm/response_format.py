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
    """Knows the surest rung that an endpoint takes.

    It is tried out with a small question, as a server may also take a format and ignore it. What
    that costs is not the request's, whose budget would otherwise depend on who came first.
    """

    def __init__(self, endpoint: Endpoint, metrics: Metrics, max_output_tokens: int) -> None:
        self._endpoint = endpoint
        self._metrics = metrics
        self._max_output_tokens = max_output_tokens
        self._best: ResponseFormat | None = None
        self._lower: OrderedDict[bytes, ResponseFormat] = OrderedDict()
        self._lock = asyncio.Lock()

    async def find_best(self, forms: SchemaForms, budget: Budget) -> ResponseFormat:
        """Return the rung to ask on for JSON of a schema, within the time of a budget.

        Raises:
            ModelFailed: the endpoint does not answer; nothing is remembered then.
        """
        async with budget.limiting_time(), self._lock:
            if self._best is None:
                self._best = await self._try_formats(budget.seconds_left)
                _log.info("a language model takes structured output", rung=self._best.value)
        return forms.fitting(self._lower.get(forms.digest, self._best))

    def step_down(self, rung: ResponseFormat) -> ResponseFormat | None:
        """Return the rung below, and count that it is needed; None below the last."""
        rungs = list(ResponseFormat)
        below = rungs[rungs.index(rung) + 1 :]
        if not below:
            return None
        self._metrics.count_model_fallback(rung.value)
        return below[0]

    def remember(self, forms: SchemaForms, rung: ResponseFormat) -> None:
        """Begin with this rung where the schema comes again: those above refused it."""
        self._lower[forms.digest] = rung
        if len(self._lower) > _MAX_REMEMBERED:
            self._lower.popitem(last=False)

    async def _try_formats(self, seconds: float) -> ResponseFormat:
        forms = build_schema_forms(_TRIAL_SCHEMA)
        tokens = _TRIAL_CALLS * (self._max_output_tokens + _TRIAL_TOKENS)
        # What it finds is for all, and waits for no caller's share.
        limits = BudgetLimits(calls=_TRIAL_CALLS, tokens=tokens, seconds=seconds)
        budget = Budget(limits, caller=NO_CALLER)
        for rung in ResponseFormat:
            if await self._serves(forms, rung, budget):
                return rung
            self.step_down(rung)
        return ResponseFormat.PROMPT

    async def _serves(self, forms: SchemaForms, rung: ResponseFormat, budget: Budget) -> bool:
        call = WireCall(
            user="What is the colour of fresh grass?",
            system="",
            # As many as any: a model that thinks first needs room for it.
            max_output_tokens=self._max_output_tokens,
            wanted=forms.wanted(rung),
        )
        try:
            answer = await self._endpoint.ask(call, budget)
        except FormatRefused:
            if rung is ResponseFormat.PROMPT:
                raise
            return False
        return rung is ResponseFormat.PROMPT or (
            answer.finish_reason is FinishReason.STOP and _is_honoured(rung, answer.text)
        )


def _is_honoured(rung: ResponseFormat, text: str) -> bool:
    """Whether a server did what the rung promises: what it did not ask for comes bare."""
    try:
        value = find_json(text)
    except ValueError:
        return False
    if rung is ResponseFormat.JSON_OBJECT:
        return isinstance(value, dict)
    return isinstance(value, dict) and value.get("colour", "") in _TRIAL_CHOICES
