from hypothesis import given
from hypothesis import strategies as st

from cinder.extract.bare_text import bare_title, strip_tags


def test_blocks_stand_apart_and_words_of_inline_elements_together() -> None:
    html = "<h1>On <b>f</b>ire</h1><p>One\ntwo<br>three</p><ul><li>a<li>b</ul><td>c</td><td>d"
    assert strip_tags(html) == "On fire\n\nOne two\nthree\n\na\nb\n\nc d"


def test_what_browsers_show_no_text_of_is_left_out() -> None:
    html = "<TITLE>t</TITLE>a<script x='>'>1<2</script>b<STYLE>c{}</STYLE>d<!-- e -->f<script>g"
    assert strip_tags(html) == "a b d f"


def test_an_attribute_may_hold_what_ends_tags_elsewhere() -> None:
    assert strip_tags('<a title="1 > 0" alt=\'<b>\' href=x?a="b>c>d') == "c>d"


def test_a_sign_that_begins_no_tag_is_text() -> None:
    assert strip_tags("1 < 2 <3 <> </ &lt;b&gt; a<") == "1 < 2 <3 <> </ <b> a<"


def test_references_are_resolved_however_long() -> None:
    assert strip_tags(f"&eacute;&#x41;&#0;&#{'9' * 5_000};") == "éA\ufffd\ufffd;"


def test_the_title_is_found() -> None:
    assert bare_title("<head><title>A &amp; B</title>") == "A & B"
    assert bare_title("<title></title>") is None
    assert bare_title("<p>") is None


@given(st.text(alphabet="<>/!-= \n\"'&#;ascriptylx1"))
def test_any_text_can_be_stripped(html: str) -> None:
    assert "<script>" not in strip_tags(html)


@given(st.lists(st.text(alphabet="abc", min_size=1), min_size=1))
def test_no_word_is_lost(words: list[str]) -> None:
    html = "<p title='>'>".join(f"{word}<br/>" for word in words)
    assert strip_tags(html).split() == words
