"""A page as JSON: what it says about itself, its outline, sections, tables and links."""

from dataclasses import replace

from cinder.extract.sections import Section, find_tables, split_sections
from cinder.model.document import Document, Json, PageMetadata
from cinder.services.fitting import fit_items, fit_members, json_chars


def page_as_json(document: Document, max_chars: int) -> tuple[dict[str, Json], list[str]]:
    """Return a page's content as structured data, and the names of the parts that were cut.

    Metadata and outline take at most a quarter of the room each; then come sections, tables, links
    and JSON-LD, as long as there is any.
    """
    content = document.content
    page: dict[str, Json] = {"url": document.url, "title": (content.metadata.title or "")[:1_000]}
    whole = _metadata(content.metadata)
    page["metadata"] = fitting = fit_members(whole, max_chars // 4)
    cut = [] if fitting == whole else ["metadata"]
    # Reading far beyond what fits would only take time.
    markdown = (content.markdown or "")[: 2 * max_chars]
    sections = split_sections(markdown)
    shortened = [replace(s, text=s.text[: max_chars // 2]) for s in sections]
    parts: dict[str, list[Json]] = {
        "outline": [_heading(section) for section in sections],
        "sections": [_text(section) for section in shortened],
        "tables": list(find_tables(markdown)),
        "links": list(content.links or ()),
        "jsonLd": list(content.metadata.json_ld),
    }
    for name, items in parts.items():
        room = max_chars - json_chars(page) - json_chars(name) - 4
        page[name] = shown = fit_items(
            items, min(room, max_chars // 4) if name == "outline" else room
        )
        if len(shown) < len(items):
            cut.append(name)
    is_text_cut = shortened != sections or len(markdown) < len(content.markdown or "")
    if is_text_cut and "sections" not in cut:
        cut.append("sections")
    return page, cut


def _heading(section: Section) -> Json:
    return {"level": section.level, "title": section.title, "chars": len(section.text)}


def _text(section: Section) -> Json:
    return {"level": section.level, "title": section.title, "text": section.text}


def _metadata(metadata: PageMetadata) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "description": metadata.description,
        "language": metadata.language,
        "author": metadata.author,
        "publishDate": metadata.published,
        "modifiedDate": metadata.modified,
        "canonical": metadata.canonical,
        "siteName": metadata.site_name,
        "keywords": list(metadata.keywords),
        "images": list(metadata.images),
        "openGraph": dict(metadata.open_graph),
    }
    return {name: value for name, value in shown.items() if value}
