"""What a page says about itself, added to an answer's metadata where room is no concern."""

from cinder.model.document import Document, Json

_MAX_CHARS = 500
_MAX_ADDRESS_CHARS = 2_000
_MAX_KEYWORDS = 20


def with_page_facts(data: dict[str, Json], document: Document) -> dict[str, Json]:
    """Return an answer with the page's facts in its metadata; one without metadata stays so."""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict):
        return data
    return data | {"metadata": metadata | _facts(document)}


def _facts(document: Document) -> dict[str, Json]:
    page = document.content.metadata
    texts = {
        "author": page.author,
        "published": page.published,
        "modified": page.modified,
        "language": page.language,
        "description": page.description,
        "siteName": page.site_name,
    }
    facts: dict[str, Json] = {name: text[:_MAX_CHARS] for name, text in texts.items() if text}
    if page.keywords:
        facts["keywords"] = [keyword[:_MAX_CHARS] for keyword in page.keywords[:_MAX_KEYWORDS]]
    # Half an address would lead elsewhere.
    if page.canonical and len(page.canonical) <= _MAX_ADDRESS_CHARS:
        facts["canonical"] = page.canonical
    return facts
