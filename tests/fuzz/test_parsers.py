import pytest

from tests.fuzz.properties import PROPERTIES, Property
from tests.fuzz.proxying import proxy_property

# `make soak` tries many times as many.
_EXAMPLES = 150
_PROXY_EXAMPLES = 30


@pytest.mark.parametrize("fact", PROPERTIES, ids=lambda fact: fact.name)
def test_a_parser_holds_whatever_it_is_given(fact: Property) -> None:
    fact.try_examples(_EXAMPLES)


def test_the_proxy_answers_or_hangs_up_whatever_it_is_sent() -> None:
    proxy_property().try_examples(_PROXY_EXAMPLES)


def test_what_does_not_hold_is_noticed() -> None:
    def holds(text: str) -> None:
        assert "<" not in text

    lie = Property("lie", PROPERTIES[12].inputs, holds)
    with pytest.raises(AssertionError):
        lie.try_examples(_EXAMPLES)
