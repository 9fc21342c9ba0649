"""Embeddings: the model of the extra tells what texts are about; without it there is none."""

from importlib.util import find_spec

import pytest

from cinder.store.index.embeddings import WordVectors, find_embedder


def test_without_the_extra_there_are_no_embeddings() -> None:
    assert (find_embedder() is None) == (find_spec("wordllama") is None)


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    embedder = find_embedder()
    if embedder is None:
        pytest.skip("cinder-web[embeddings] is not installed")
    return embedder


def test_texts_about_the_same_are_near(vectors: WordVectors) -> None:
    query = vectors.embed("", "How do I cook rice?")
    pages = [
        vectors.embed("Boiling grains", "Put them in hot water and stir until they are soft."),
        vectors.embed("Jet engines", "Thrust at supersonic speed depends on the inlet."),
    ]
    near, far = vectors.compare(query, pages)
    assert near > far


def test_a_vector_is_a_byte_for_each_dimension(vectors: WordVectors) -> None:
    assert {len(vectors.embed(title, text)) for title in ("", "A") for text in ("", "b")} == {256}


def test_a_text_without_tokens_is_near_nothing(vectors: WordVectors) -> None:
    assert vectors.compare(vectors.embed("", ""), [vectors.embed("A", "b")]) == [0.0]
