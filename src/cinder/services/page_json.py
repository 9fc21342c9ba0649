"""A page as JSON: what it says about itself, its outline, sections, tables and links."""

from cinder.extract.sections import find_tables, split_sections
from cinder.model.document import Document, Json, PageMetadata
from cinder.services.fitting import fit_items, fit_members, json_chars


def page_as_json(document: Document, max_chars: int) -> tuple[dict[str, Json], list[str]]:
    """Return a page's content as structured data, and the names of the parts that were cut.

    Where not all of it fits, sections come before tables, links and JSON-LD.
    """
    content = document.content
    page: dict[str, Json] = {"url": document.url, "title": content.metadata.title or ""}
    whole = _metadata(content.metadata)
    page["metadata"] = fitting = fit_members(whole, max_chars // 4)
    cut = [] if fitting == whole else ["metadata"]
    for name, items in _lists(document).items():
        page[name] = shown = fit_items(items, max_chars - json_chars(page) - len(name) - 6)
        if len(shown) < len(items):
            cut.append(name)
    return page, cut


def _lists(document: Document) -> dict[str, list[Json]]:
    markdown = document.content.markdown or ""
    sections = split_sections(markdown)
    return {
        "outline": [{"level": s.level, "title": s.title, "chars": len(s.text)} for s in sections],
        "sections": [{"level": s.level, "title": s.title, "text": s.text} for s in sections],
        "tables": list(find_tables(markdown)),
        "links": list(document.content.links or ()),
        "jsonLd": list(document.content.metadata.json_ld),
    }


def _metadata(metadata: PageMetadata) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "description": metadata.description,
        "language": metadata.language,
        "author": metadata.author,
        "published": metadata.published,
        "modified": metadata.modified,
        "canonical": metadata.canonical,
        "siteName": metadata.site_name,
        "keywords": list(metadata.keywords),
        "images": list(metadata.images),
        "openGraph": dict(metadata.open_graph),
    }
    return {name: value for name, value in shown.items() if value}
