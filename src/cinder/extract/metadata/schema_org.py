"""What a page's JSON-LD says of the work that the page is: an article, a post, a question."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import unescape

from cinder.extract.metadata.declared_elements import cut
from cinder.model.document import Json

_WORK_ENDINGS = ("Article", "Posting", "Report", "Recipe", "Question")
_PAGE_ENDINGS = ("Page",)
_SITE_ENDINGS = ("WebSite", "Organization")
# A page that lists more of them is none of them.
_MAX_WORKS = 4
_MAX_SITES = 10
_MAX_DEPTH = 4
_MAX_NAMES = 10

Node = Mapping[str, Json]


class Graph:
    """The JSON-LD objects of a page, and what their references lead to."""

    def __init__(self, objects: Sequence[Node]) -> None:
        self._by_id = {named: each for each in objects if isinstance(named := each.get("@id"), str)}
        everything = [*objects, *_main_entities(objects)]
        has_product = any(_is_of(each, ("Product",)) for each in everything)
        # What customers say of a product is not the page.
        endings = _WORK_ENDINGS if has_product else (*_WORK_ENDINGS, "Review")
        works = [each for each in everything if _is_of(each, endings)]
        pages = [each for each in everything if _is_of(each, _PAGE_ENDINGS)]
        self.works = [*(works if len(works) <= _MAX_WORKS else []), *pages[:_MAX_WORKS]]
        """The objects that may be the page itself, the likeliest first."""
        self.is_product = has_product and not works
        """Whether the page offers something, which has a maker and no author."""
        self.is_bare_page = not works
        """Whether it says nothing of a work, only of the page that stands for it in a database."""
        self.is_collection = not works and any(_is_of(each, ("CollectionPage",)) for each in pages)
        """Whether the page lists other pages."""
        sites = [each for each in everything if _is_of(each, _SITE_ENDINGS)]
        self._sites = sites[:_MAX_SITES]

    def texts(self, *keys: str) -> Iterator[str]:
        """Yield what the works say under the keys; the first key counts most."""
        for key in keys:
            for work in self.works:
                for value in _as_list(work.get(key))[:_MAX_NAMES]:
                    # Templates escape for HTML what they write into a script.
                    if isinstance(value, str) and (text := cut(unescape(value))):
                        yield text

    def site_name(self) -> str | None:
        """Return the name of the website."""
        sites = (each for each in self._sites if _is_of(each, ("WebSite",)))
        return next((name for site in sites for name in self._names(site.get("name"), 0)), None)

    def site_names(self) -> Iterator[str]:
        """Yield the names of the website and of who is behind it."""
        for site in self._sites:
            yield from self._names(site.get("name"), 0)

    def authors(self, *, are_people: bool) -> list[str]:
        """Return the names of the first work's authors: people, or organisations."""
        for work in self.works:
            names = [
                name
                for key in ("author", "creator")
                for author in _as_list(work.get(key))[:_MAX_NAMES]
                if are_people is not _is_of(self._follow(author), _SITE_ENDINGS)
                for name in self._names(author, 0)
            ]
            if names:
                return list(dict.fromkeys(names))[:_MAX_NAMES]
        return []

    def _follow(self, value: Json) -> Node:
        """Return the object that a value is, or refers to."""
        if not isinstance(value, Mapping):
            return {}
        named = value.get("@id")
        if "name" in value or not isinstance(named, str):
            return value
        return self._by_id.get(named, value)

    def _names(self, value: Json, depth: int) -> Iterator[str]:
        if depth > _MAX_DEPTH:
            return
        if isinstance(value, str):
            if name := cut(unescape(value)):
                yield name
        elif isinstance(value, Mapping):
            yield from self._names(self._follow(value).get("name"), depth + 1)
        elif isinstance(value, Sequence):
            for item in value[:_MAX_NAMES]:
                yield from self._names(item, depth + 1)


def _main_entities(objects: Iterable[Node]) -> Iterator[Node]:
    """Yield what pages are about; a page that names several things is about none of them."""
    for each in objects:
        entities = _as_list(each.get("mainEntity"))
        if len(entities) == 1 and isinstance(entities[0], Mapping):
            yield entities[0]


def _is_of(value: Node, endings: tuple[str, ...]) -> bool:
    return any(
        isinstance(kind, str) and kind.endswith(endings) for kind in _as_list(value.get("@type"))
    )


def _as_list(value: Json) -> Sequence[Json]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return [] if value is None else [value]
