"""The sheet on which a branding is put together: values by their place, and each one's source."""

from collections.abc import Sequence

from cinder.extract.branding.styles import Styled
from cinder.model.document import Json


class BrandSheet:
    """Takes the first value for each place, such as `colors.primary`; later ones are ignored."""

    def __init__(self) -> None:
        self._values: dict[str, Json] = {}
        self._sources: dict[str, Json] = {}

    def put(self, path: str, styled: Styled | None) -> None:
        """Put a value where none stands yet, if there is one."""
        if styled is not None and styled.value and path not in self._values:
            self._values[path] = styled.value
            self._sources[path] = styled.source

    def put_list(self, path: str, values: Sequence[str], source: str) -> None:
        """Put a list of texts where none stands yet."""
        if path not in self._values:
            self._values[path] = list(values)
            self._sources[path] = source

    def put_value(self, path: str, value: Json) -> None:
        """Put any value; its source is noted apart."""
        self._values.setdefault(path, value)

    def note_source(self, path: str, source: str) -> None:
        """Note where a value, or a part of it, came from."""
        self._sources.setdefault(path, source)

    def get(self, path: str) -> Styled | None:
        """Return what was put at a place."""
        value, source = self._values.get(path), self._sources.get(path)
        return Styled(str(value), str(source)) if isinstance(value, str) else None

    def as_json(self) -> dict[str, Json]:
        """Return all of it, places nested as their names say, with `sources` by place."""
        whole: dict[str, Json] = {}
        for path, value in self._values.items():
            *groups, leaf = path.split(".")
            table = whole
            for group in groups:
                inner = table.setdefault(group, {})
                if not isinstance(inner, dict):
                    raise TypeError(f"{path} lies within a value")
                table = inner
            table[leaf] = value
        return whole | {"sources": dict(self._sources)} if whole else {}
