"""The texts of a page as the store writes them."""

import pytest

from cinder.compression import compress, decompress
from cinder.documents.stored_texts import are_sound, prepare_texts
from cinder.models.document import Extraction, StoredForm, StoredTexts
from cinder.text.plain_text import hash_words

PAGE = Extraction(text="<p>The <b>moon</b>", markdown="The **moon**")


def test_texts_are_compressed_for_a_store_that_compresses() -> None:
    texts = prepare_texts(PAGE, StoredForm.COMPRESSED)
    assert texts is not None
    bodies = [body and decompress(body).decode() for body in (texts.text, texts.markdown)]
    assert bodies == [PAGE.text, PAGE.markdown]
    assert (texts.plain, texts.plain_hash) == ("The moon", hash_words("The moon"))
    assert are_sound(texts, PAGE)


def test_other_stores_get_the_text_for_the_index_alone() -> None:
    expected = StoredTexts(plain="The moon", plain_hash=hash_words("The moon"))
    assert prepare_texts(PAGE, StoredForm.PLAIN) == expected


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_texts_that_the_store_changes_are_left_to_it(text: str) -> None:
    assert prepare_texts(Extraction(text=text), StoredForm.COMPRESSED) is None
    assert prepare_texts(Extraction(markdown=text), StoredForm.COMPRESSED) is None


@pytest.mark.parametrize(
    "texts",
    [
        StoredTexts(text=compress(b"0" * 10_000_000)),
        StoredTexts(markdown=b"The moon"),
        StoredTexts(plain="x" * 100_001),
    ],
    ids=["bomb", "not compressed", "too long"],
)
def test_texts_that_could_do_harm_are_not_sound(texts: StoredTexts) -> None:
    assert not are_sound(texts, PAGE)
