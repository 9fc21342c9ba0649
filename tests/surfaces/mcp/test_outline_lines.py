from cinder.services.excerpt import Window
from cinder.services.reading import read_markdown
from cinder.surfaces.mcp.outline_lines import outline_note, tell_outline_lines

MARKDOWN = f"# Care of fire\n\n{'Ash. ' * 40}\n\n## What's new?\n\n{'Oak. ' * 40}"


def told(window: Window) -> object:
    return tell_outline_lines(read_markdown(MARKDOWN, window), window)


def test_a_title_is_said_where_the_id_does_not_tell_it() -> None:
    assert told(Window(0, 300)) == {
        "outline": ["care-of-fire (109)", "  what-s-new (54) What's new?"]
    }


def test_whoever_reads_on_has_seen_the_outline() -> None:
    assert told(Window(200, 100)) == {}
    assert told(Window(0, 10_000)) == {}


def test_a_query_in_vain_is_answered_with_the_outline() -> None:
    assert told(Window(0, 10_000, query="coal")) != {}
    assert told(Window(0, 10_000, query="oak")) == {}


def test_the_note_is_a_line_for_each_heading() -> None:
    assert outline_note({"outline": ["a (1)", "b (2)"]}) == (
        "Outline, as section (tokens):\na (1)\nb (2)"
    )
    assert outline_note({}) is None
