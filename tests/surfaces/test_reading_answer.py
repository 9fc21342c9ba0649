from cinder.services.excerpt import Window
from cinder.services.reading import read_markdown
from cinder.surfaces.reading_answer import fit_outline, tell_outline


def test_higher_ranks_are_shown_before_lower_ones() -> None:
    markdown = "\n\n".join(f"# A{n}\n\n## B{n}" for n in range(3))
    outline = read_markdown(markdown, Window(0, 100)).outline
    shown = fit_outline(outline, 4, lambda _: 1)
    assert [heading.id for heading in shown] == ["a0", "b0", "a1", "a2"]


def test_an_outline_of_thousands_is_bounded_and_says_so() -> None:
    markdown = "\n\n".join(f"# Heading {n}" for n in range(3_000))
    window = Window(0, 1_000_000)
    told = tell_outline(read_markdown(markdown, window), window)
    assert isinstance(told["outline"], list)
    assert len(told["outline"]) == 300
    assert told["outlineLeftOut"] == 2_700
