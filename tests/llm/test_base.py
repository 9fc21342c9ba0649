"""The budget of one request."""

import asyncio

import pytest

from cinder.llm.base import Budget, BudgetExceeded, BudgetLimits

LIMITS = BudgetLimits(calls=2, tokens=100, seconds=30)


def test_calls_end() -> None:
    budget = Budget(LIMITS)
    budget.take_call()
    budget.take_call()
    with pytest.raises(BudgetExceeded, match=r"2 of 2 calls.*CINDER_LLM__MAX_CALLS"):
        budget.take_call()
    assert budget.calls == 2


def test_tokens_end_with_the_call_that_goes_beyond() -> None:
    budget = Budget(LIMITS)
    budget.take_call()
    budget.tokens += 130
    with pytest.raises(BudgetExceeded, match=r"130 of 100 tokens.*CINDER_LLM__MAX_TOKENS"):
        budget.take_call()


def test_time_ends() -> None:
    moments = iter([5.0, 20.0, 36.0])
    budget = Budget(LIMITS, clock=lambda: next(moments))
    assert budget.seconds_left == 15.0
    with pytest.raises(BudgetExceeded, match=r"30 seconds.*CINDER_LLM__MAX_SECONDS"):
        budget.take_call()


async def test_what_takes_too_long_is_ended() -> None:
    budget = Budget(BudgetLimits(calls=1, tokens=1, seconds=0.01))
    with pytest.raises(BudgetExceeded, match=r"0\.01 seconds"):
        async with budget.limiting_time():
            await asyncio.Event().wait()


async def test_a_timeout_of_what_is_done_inside_stays_its_own() -> None:
    with pytest.raises(TimeoutError):
        async with Budget(LIMITS).limiting_time():
            raise TimeoutError
