"""A language model over HTTP: asks for JSON, checks it, and has a wrong answer repaired."""

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
    TokenCounts,
)
from cinder.llm.endpoint import Endpoint
from cinder.llm.response_format import ResponseFormatNegotiator
from cinder.llm.schema_forms import SchemaForms, build_schema_forms
from cinder.llm.wire_format import Repair, WireAnswer, WireCall, find_json
from cinder.metrics import Metrics
from cinder.models.document import Json

# What is shown of a wrong answer when a right one is asked for: repeating more helps nobody.
_MAX_SAID_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """An answer to a question with a schema, and what is wrong with it."""

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
        self._ladder = ResponseFormatNegotiator(endpoint, metrics, max_output_tokens)

    async def complete(self, prompt: ModelRequest, budget: Budget) -> ModelAnswer:
        """Return the model's answer, which matches the schema if there is one.

        Raises:
            InvalidRequest: the schema cannot be used; names where.
            ModelFailed: there is no answer; its subclasses tell why.
        """
        started = time.monotonic()
        if prompt.schema is None:
            answer = await self._endpoint.ask(self._call(prompt), budget)
            return self._finish(started, answer)
        forms = build_schema_forms(prompt.schema)
        draft = await self._draft(prompt, forms, budget)
        if not draft.problems:
            return self._finish(started, draft.answer, value=draft.value)
        mended = await self._repair(forms, draft, budget)
        return self._finish(
            started, mended.answer, value=mended.value, before=draft.answer.tokens, is_repaired=True
        )

    async def _draft(self, prompt: ModelRequest, forms: SchemaForms, budget: Budget) -> _Draft:
        best = rung = await self._ladder.find_best(forms, budget)
        while True:
            call = replace(self._call(prompt), wanted=forms.wanted(rung))
            try:
                draft = await self._ask(forms, call, budget)
            except FormatRefused:
                # It takes the format in general: what it refuses is this schema.
                below = self._ladder.step_down(rung)
                if below is None:
                    raise
                rung = below
            else:
                if rung is not best:
                    self._ladder.remember(forms, rung)
                return draft

    async def _repair(self, forms: SchemaForms, draft: _Draft, budget: Budget) -> _Draft:
        repair = Repair(
            said=draft.answer.text[:_MAX_SAID_CHARS], complaint=_complaint(draft.problems)
        )
        try:
            second = await self._ask(forms, replace(draft.call, repair=repair), budget)
        except BaseException:
            self._metrics.count_model_repair("failed")
            raise
        self._metrics.count_model_repair("failed" if second.problems else "ok")
        if second.problems:
            raise ModelAnswerInvalid(
                f"{self._endpoint.title} gave an answer that does not match the schema, twice: "
                f"{'; '.join(second.problems)[:500]}. Ask for less at once, or choose a more able "
                "model"
            )
        return second

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

    def _call(self, prompt: ModelRequest) -> WireCall:
        limit = prompt.max_output_tokens or self._max_output_tokens
        return WireCall(user=prompt.user, system=prompt.system, max_output_tokens=limit)

    def _finish(
        self,
        started: float,
        answer: WireAnswer,
        *,
        value: Json = None,
        before: TokenCounts | None = None,
        is_repaired: bool = False,
    ) -> ModelAnswer:
        tokens = answer.tokens
        if is_repaired:
            tokens = None if tokens is None or before is None else before + tokens
        return ModelAnswer(
            text=answer.text,
            value=value,
            tokens=tokens,
            finish_reason=answer.finish_reason,
            model=answer.model or self.name,
            milliseconds=round((time.monotonic() - started) * 1000),
            is_repaired=is_repaired,
        )


def _complaint(problems: tuple[str, ...]) -> str:
    listed = "\n".join(f"- {problem}" for problem in problems)
    return (
        f"That answer does not match the schema:\n{listed}\n"
        "Answer again with the whole JSON object, corrected, and nothing else. Where a value is "
        "not known, write null."
    )
