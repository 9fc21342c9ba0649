"""The ladder: which way of asking for JSON an endpoint takes, found out once."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.llm.base import FinishReason
from cinder.llm.budget import Budget, BudgetLimits
from cinder.llm.endpoint import Endpoint
from cinder.llm.failures import FormatRefused
from cinder.llm.json_text import find_json
from cinder.llm.schema_forms import SchemaForms, read_schema
from cinder.llm.wire import Rung, WireCall
from cinder.metrics import Metrics
from cinder.model.document import Json
from cinder.shares import NOBODY

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


class StructureLadder:
    """Knows the surest rung that an endpoint takes.

    It is tried out with a small question, as a server may also take a format and ignore it. What
    that costs is not the request's, whose budget would otherwise depend on who came first.
    """

    def __init__(self, endpoint: Endpoint, metrics: Metrics, max_output_tokens: int) -> None:
        self._endpoint = endpoint
        self._metrics = metrics
        self._max_output_tokens = max_output_tokens
        self._best: Rung | None = None
        self._lower: OrderedDict[bytes, Rung] = OrderedDict()
        self._lock = asyncio.Lock()

    async def find_best(self, forms: SchemaForms, budget: Budget) -> Rung:
        """Return the rung to ask on for JSON of a schema, within the time of a budget.

        Raises:
            ModelFailed: the endpoint does not answer; nothing is remembered then.
        """
        async with budget.limiting_time(), self._lock:
            if self._best is None:
                self._best = await self._try_rungs(budget.seconds_left)
                _log.info("a language model takes structured output", rung=self._best.value)
        return forms.fitting(self._lower.get(forms.digest, self._best))

    def step_down(self, rung: Rung) -> Rung | None:
        """Return the rung below, and count that it is needed; None below the last."""
        rungs = list(Rung)
        below = rungs[rungs.index(rung) + 1 :]
        if not below:
            return None
        self._metrics.count_model_fallback(rung.value)
        return below[0]

    def remember(self, forms: SchemaForms, rung: Rung) -> None:
        """Begin with this rung where the schema comes again: those above refused it."""
        self._lower[forms.digest] = rung
        if len(self._lower) > _MAX_REMEMBERED:
            self._lower.popitem(last=False)

    async def _try_rungs(self, seconds: float) -> Rung:
        forms = read_schema(_TRIAL_SCHEMA)
        tokens = _TRIAL_CALLS * (self._max_output_tokens + _TRIAL_TOKENS)
        # What it finds is for all, and waits for no caller's share.
        limits = BudgetLimits(calls=_TRIAL_CALLS, tokens=tokens, seconds=seconds)
        budget = Budget(limits, caller=NOBODY)
        for rung in Rung:
            if await self._serves(forms, rung, budget):
                return rung
            self.step_down(rung)
        return Rung.PROMPT

    async def _serves(self, forms: SchemaForms, rung: Rung, budget: Budget) -> bool:
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
            if rung is Rung.PROMPT:
                raise
            return False
        return rung is Rung.PROMPT or (
            answer.finish_reason is FinishReason.STOP and _is_held(rung, answer.text)
        )


def _is_held(rung: Rung, text: str) -> bool:
    """Whether a server did what the rung promises: what it did not ask for comes bare."""
    try:
        value = find_json(text)
    except ValueError:
        return False
    if rung is Rung.JSON_OBJECT:
        return isinstance(value, dict)
    return isinstance(value, dict) and value.get("colour", "") in _TRIAL_CHOICES
