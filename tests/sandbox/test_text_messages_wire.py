"""tests.sandbox.test_text_messages_wire"""

import pytest

from cinder.extraction.passage_ranking import rank_passages
from cinder.models.extraction import PassageQuery, QueriedField, ValueSign
from cinder.sandbox.messages import MalformedMessage, Message
from cinder.sandbox.text_messages import answer_passages, passages_job, read_passages

MARKDOWN = "# Löwe\n\nThe price is 12 €."
QUERY = PassageQuery(
    prompt="Wie teuer?",
    fields=(
        QueriedField(name="price", description="in euros", sign=ValueSign.FIGURE),
        QueriedField(name="x"),
    ),
)


def test_passages_come_back_as_they_were_ranked() -> None:
    answer = answer_passages(passages_job(MARKDOWN, QUERY, 5))
    assert read_passages(answer) == rank_passages(MARKDOWN, QUERY, 5)
    assert read_passages(answer)[0].text == MARKDOWN


@pytest.mark.parametrize("said", [b"{}", b"[1]", b"[{}]", b"x"])
def test_an_answer_of_another_shape_is_refused(said: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_passages(Message("passages", {}, (said,)))
