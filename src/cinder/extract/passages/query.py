"""What to rank passages by, for fields that a schema wants."""

from collections.abc import Iterable

from cinder.extract.fields.values import wants_date
from cinder.extract.fields.wanted import FieldKind, Wanted
from cinder.extract.fields.words import words_of
from cinder.model.passage import AskedField, PassageQuery, Sign

_FIGURES = (FieldKind.NUMBER, FieldKind.INTEGER)
_EMAIL = frozenset(words_of("email"))
_PHONE = frozenset(words_of("phone"))


def query_for(prompt: str, fields: Iterable[Wanted]) -> PassageQuery:
    """Return the question that a prompt and some fields are; of a list, what its items have too."""
    asked = tuple(_asked(each) for field in fields for each in _with_items(field))
    return PassageQuery(prompt=prompt, fields=asked)


def _with_items(field: Wanted) -> Iterable[Wanted]:
    if field.kind is not FieldKind.ARRAY:
        return (field,)
    return (field, *(child for child in field.item.children if child.is_scalar))


def _asked(field: Wanted) -> AskedField:
    within = " ".join(field.path.replace("[]", "").split("."))
    return AskedField(name=within or field.name, description=field.told, sign=_sign(field))


def _sign(field: Wanted) -> Sign | None:
    if field.format in ("email", "idn-email") or not _EMAIL.isdisjoint(field.words):
        return Sign.AT
    has_figures = field.kind in _FIGURES or wants_date(field)
    return Sign.FIGURE if has_figures or not _PHONE.isdisjoint(field.words) else None
