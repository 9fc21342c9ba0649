"""The title to cite a page by."""

import pytest

from cinder.html.metadata.title import Titles, choose_title, name_key, without_site_name


def titles(
    element: str = "",
    *,
    shared: str = "",
    headings: tuple[str, ...] = (),
    subheadings: tuple[str, ...] = (),
    headlines: tuple[str, ...] = (),
    sites: tuple[str, ...] = (),
) -> Titles:
    return Titles(
        element=element,
        shared=shared,
        headings=headings,
        subheadings=subheadings,
        headlines=headlines,
        site_names=frozenset(map(name_key, sites)),
    )


@pytest.mark.parametrize(
    ("title", "sites", "expected"),
    [
        ("Keeping a fire - Ember", ("Ember",), "Keeping a fire"),
        ("Keeping a fire - Ember Magazine", ("ember-magazine",), "Keeping a fire"),
        ("Ember: Keeping a fire", ("Ember",), "Ember: Keeping a fire"),
        ("Ember » Keeping a fire", ("Ember",), "Keeping a fire"),
        ("Keeping a fire | Woods | Ember", ("Ember",), "Keeping a fire | Woods"),
        ("Keeping a fire | Somebody", ("Ember",), "Keeping a fire"),
        ("Oak - and other woods", ("Ember",), "Oak - and other woods"),
        ("Ember", ("Ember",), "Ember"),
        ("Well-kept fires", (), "Well-kept fires"),
    ],
)
def test_a_title_loses_the_name_of_its_site(
    title: str, sites: tuple[str, ...], expected: str
) -> None:
    assert without_site_name(title, frozenset(map(name_key, sites))) == expected


def test_the_heading_that_agrees_with_the_title_is_cited() -> None:
    said = titles(
        "How to keep a fire | Ember",
        headings=("Ember", "Menu", "How to keep a fire overnight"),
        sites=("Ember",),
    )
    assert choose_title(said) == "How to keep a fire overnight"


def test_a_slogan_for_a_heading_is_not_the_title() -> None:
    said = titles("Firewood prices | Ember", headings=("Warm yourself today!",))
    assert choose_title(said) == "Firewood prices"


def test_a_headline_vouches_for_a_heading() -> None:
    said = titles(
        "Firewood: 5 secrets", headings=("What logs really cost",), headlines=("What logs cost",)
    )
    assert choose_title(said) == "What logs really cost"


def test_what_is_shared_comes_before_the_title_element() -> None:
    assert choose_title(titles("SELECT - Docs 18", shared="SELECT")) == "SELECT"


def test_a_lone_heading_is_the_title() -> None:
    assert choose_title(titles(headings=("", "Oak\u00ads burn long ¶"))) == "Oaks burn long"
    assert choose_title(titles()) == ""


def test_the_part_of_a_title_that_a_thread_has_as_heading_is_cited() -> None:
    thread = titles("Damp wood / Questions / Ember", subheadings=("Damp wood",), sites=("Ember",))
    assert choose_title(thread) == "Damp wood"
    assert choose_title(titles("Damp wood / Questions")) == "Damp wood / Questions"
