"""Text embeddings by a small model from PyPI, for ranking by meaning.

The model is a table with a vector for each token; the embedding of a text is the mean of its
tokens' vectors. It is the one in WordLlama's package, read from its files, because the package
itself would download them.
"""

import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# A page's subject is at its beginning, and each character takes time.
_MAX_CHARS = 1_500
# Scales a component of a unit vector to a byte; larger ones are clipped.
_FULL = 127 * 2.5

_TOKENIZER = Path("tokenizers/l2_supercat_tokenizer_config.json")
_TABLE = Path("weights/l2_supercat_256.safetensors")
_NEEDED = ("wordllama", "tokenizers", "safetensors", "numpy")


class WordVectors:
    """Computes vectors of one byte per dimension. See `cinder.store.index.ranking.Embedder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None  # Any: neither library has types

    def embed(self, title: str, text: str) -> bytes:
        """Return the vector of a page: half of it is that of its title."""
        tokenizer, table = self._load()
        parts = [part for part in (title, text[:_MAX_CHARS]) if part.strip()]
        total: Any = 0  # Any: numpy has no types here
        for part in parts or [""]:
            ids = tokenizer.encode(part, add_special_tokens=False).ids
            # The table has half precision, which is too little for the sum.
            vector = table[ids].sum(axis=0, dtype="float32")
            total = total + vector / (self._numpy.linalg.norm(vector) + 1e-9)
        unit = total / (self._numpy.linalg.norm(total) + 1e-9)
        packed: bytes = (unit * _FULL).clip(-127, 127).round().astype("int8").tobytes()
        return packed

    def compare(self, query: bytes, pages: Sequence[bytes]) -> list[float]:
        """Return the similarity of each page to a query."""
        vectors = self._unpack(b"".join(pages)).reshape(len(pages), -1)
        lengths = self._numpy.linalg.norm(vectors, axis=1) + 1e-9
        similarity: list[float] = (vectors @ self._unpack(query) / lengths).tolist()
        return similarity

    def _unpack(self, data: bytes) -> Any:  # Any: as above
        return self._numpy.frombuffer(data, dtype="int8").astype("float32")

    def _load(self) -> tuple[Any, Any]:  # Any: as above
        with self._loading:
            if self._loaded is None:
                # Imported only where the extra is installed and used.
                from safetensors.numpy import load_file  # noqa: PLC0415
                from tokenizers import Tokenizer  # noqa: PLC0415

                tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER))
                tokenizer.no_padding()
                tokenizer.no_truncation()
                weights = load_file(self._folder / _TABLE)
                self._loaded = tokenizer, weights["embedding.weight"]
            return self._loaded

    @cached_property
    def _numpy(self) -> Any:  # Any: as above
        import numpy as np  # noqa: PLC0415 - as above

        return np


def find_embedder() -> WordVectors | None:
    """Return the embedder, where the extra `cinder-web[embeddings]` is installed."""
    if any(find_spec(name) is None for name in _NEEDED):
        return None
    spec = find_spec("wordllama")
    for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
        if (folder / _TOKENIZER).is_file() and (folder / _TABLE).is_file():
            return WordVectors(folder)
    return None
