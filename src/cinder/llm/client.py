"""A language model over HTTP: asks for JSON, checks it, and asks for a correction if needed."""

import time
from dataclasses import dataclass, replace

from cinder.llm.base import (
    Budget,
    FinishReason,
    FormatRefused,
    ModelAnswer,
    ModelAnswerInvalid,
    ModelLengthExceeded,
    ModelRequest,
)
from cinder.llm.endpoint import Endpoint
from cinder.llm.response_format import ResponseFormatNegotiator
from cinder.llm.schema_forms import SchemaForms, build_schema_forms
from cinder.llm.wire_format import Repair, WireAnswer, WireCall, find_json
from cinder.metrics import Metrics
from cinder.models.document import Json

# How much of a wrong answer is sent back when asking for its correction.
_MAX_ANSWER_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """An answer to a prompt with a schema, and its problems."""

    call: WireCall
    answer: WireAnswer
    value: Json = None
    problems: tuple[str, ...] = ()


class HttpLanguageModel:
    """A model behind an endpoint."""

    def __init__(
        self, name: str, endpoint: Endpoint, metrics: Metrics, max_output_tokens: int = 4096
    ) -> None:
        self.name = name
        self._max_output_tokens = max_output_tokens
        self._endpoint = endpoint
        self._metrics = metrics
        self._formats = ResponseFormatNegotiator(endpoint, metrics, max_output_tokens)

    async def complete(self, prompt: ModelRequest, budget: Budget) -> ModelAnswer:
        """Return the model's answer, which matches the schema if there is one.

        Raises:
            InvalidRequest: the schema cannot be used; the message says where.
            ModelFailed: there is no answer; the subclass says why.
        """
        started = time.monotonic()
        call = WireCall(
            user=prompt.user,
            system=prompt.system,
            max_output_tokens=prompt.max_output_tokens or self._max_output_tokens,
        )
        if prompt.schema is None:
            return self._finish(started, await self._endpoint.ask(call, budget))
        forms = build_schema_forms(prompt.schema)
        draft = await self._draft(call, forms, budget)
        if not draft.problems:
            return self._finish(started, draft.answer, value=draft.value)
        problems = "\n".join(f"- {problem}" for problem in draft.problems)
        complaint = (
            f"That answer does not match the schema:\n{problems}\n"
            "Answer again with the whole JSON object, corrected, and nothing else. Where a value "
            "is not known, write null."
        )
        repair = Repair(answer=draft.answer.text[:_MAX_ANSWER_CHARS], complaint=complaint)
        try:
            second = await self._ask(forms, replace(draft.call, repair=repair), budget)
        except BaseException:
            self._metrics.model_repairs.labels("failed").inc()
            raise
        self._metrics.model_repairs.labels("failed" if second.problems else "ok").inc()
        if second.problems:
            raise ModelAnswerInvalid(
                f"{self._endpoint.title} gave an answer that does not match the schema, twice: "
                f"{'; '.join(second.problems)[:500]}. Ask for less at once, or choose a more able "
                "model"
            )
        before, after = draft.answer.tokens, second.answer.tokens
        tokens = None if before is None or after is None else before + after
        finished = self._finish(started, second.answer, value=second.value)
        return replace(finished, tokens=tokens, is_repaired=True)

    async def _draft(self, call: WireCall, forms: SchemaForms, budget: Budget) -> _Draft:
        best = format_ = await self._formats.find_best(forms, budget)
        while True:
            try:
                draft = await self._ask(
                    forms, replace(call, requested=forms.requested(format_)), budget
                )
            except FormatRefused:
                # The server supports the format in general, but not with this schema.
                weaker = self._formats.step_down(format_)
                if weaker is None:
                    raise
                format_ = weaker
            else:
                if format_ is not best:
                    self._formats.remember(forms, format_)
                return draft

    async def _ask(self, forms: SchemaForms, call: WireCall, budget: Budget) -> _Draft:
        answer = await self._endpoint.ask(call, budget)
        if answer.finish_reason is FinishReason.LENGTH:
            raise ModelLengthExceeded(
                f"{self._endpoint.title} did not come to an end within {call.max_output_tokens} "
                "tokens. Ask about less at once, or allow more"
            )
        try:
            value = forms.unwrap(find_json(answer.text))
        except ValueError as error:
            return _Draft(call=call, answer=answer, problems=(f"the answer: {error}",))
        problems = forms.check.problems(value)
        return _Draft(call=call, answer=answer, value=value, problems=problems)

    def _finish(self, started: float, answer: WireAnswer, *, value: Json = None) -> ModelAnswer:
        return ModelAnswer(
            text=answer.text,
            value=value,
            tokens=answer.tokens,
            finish_reason=answer.finish_reason,
            model=answer.model or self.name,
            milliseconds=round((time.monotonic() - started) * 1000),
        )
