import pytest

from cinder.extract.passages.ranking import rank_passages
from cinder.extract.passages.wire import answer_passages, passages_job, read_passages
from cinder.extract.wire import MalformedMessage, Message
from cinder.model.passage import AskedField, PassageQuery, Sign

MARKDOWN = "# Löwe\n\nThe price is 12 €."
QUERY = PassageQuery(
    prompt="Wie teuer?",
    fields=(
        AskedField(name="price", description="in euros", sign=Sign.FIGURE),
        AskedField(name="x"),
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
