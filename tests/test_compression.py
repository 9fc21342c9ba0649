"""Compressed texts, and those that are not what they claim."""

from cinder.compression import compress, decompress, is_compressed


def test_what_is_compressed_comes_back() -> None:
    data = b"lorem ipsum " * 1_000
    assert len(compress(data)) < 100
    assert decompress(compress(data)) == data
    assert is_compressed(compress(data), len(data))


def test_data_of_another_size_is_noticed_before_it_is_decompressed() -> None:
    data = compress(b"x" * 1_000)
    assert not is_compressed(data, 999)
    assert not is_compressed(compress(b"") + data, 0)
    assert not is_compressed(data + data, 1_000)
    assert not is_compressed(data[:-1], 1_000)
    assert not is_compressed(b"no frame", 1_000)
