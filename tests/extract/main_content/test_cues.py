from cinder.extract.main_content.cues import CueWeights, read_cues


def test_class_and_id_are_split_into_words_and_kept_whole() -> None:
    assert read_cues("div", {"class": "post-body large", "id": "mainContent2"}) == (
        *("<div>", "post", "body", "post-body", "large", "main", "content", "main-content"),
    )


def test_roles_schema_and_labels_are_cues() -> None:
    attributes = {
        "role": "Main",
        "itemprop": "articleBody",
        "itemtype": "https://schema.org/Article/",
        "aria-hidden": "true",
        "data-testid": "story-text",
    }

    assert read_cues("section", attributes) == (
        *("<section>", "role=main", "itemprop=articlebody", "itemtype=article", "aria-hidden"),
        *("data-testid=story", "data-testid=text", "data-testid=story-text"),
    )


def test_an_element_without_attributes_is_known_by_its_tag() -> None:
    assert read_cues("p", {}) == ("<p>",)


def test_an_absurdly_long_class_is_cut() -> None:
    assert len(read_cues("p", {"class": "word-" * 100_000})) < 30


def test_weights_of_unknown_cues_are_nought() -> None:
    weights = CueWeights({"nav": -2.0, "post": 1.5, "meta": -0.5})

    assert weights.extremes(("nav", "post", "meta", "other")) == (-2.0, 1.5)
    assert weights.extremes(("post",)) == (0.0, 1.5)
    assert weights.extremes(("other",)) == (0.0, 0.0)
