"""A page as JSON: what it says about itself, its outline, sections, tables and links."""

from dataclasses import replace

from cinder.extract.reading.outline import Heading
from cinder.extract.reading.sections import Section, find_tables, split_sections
from cinder.model.document import Document, Json, PageMetadata
from cinder.services.excerpt import Window
from cinder.services.fitting import fit_items, fit_members, json_chars
from cinder.services.reading import structure_of, take_markdown


def page_as_json(document: Document, max_chars: int) -> tuple[dict[str, Json], list[str]]:
    """Return a page's content as structured data, and the names of the parts that were cut.

    Metadata and outline take at most a quarter of the room each; then come sections, tables, links
    and JSON-LD, as long as there is any.
    """
    content = document.content
    page: dict[str, Json] = {"url": document.url, "title": (content.metadata.title or "")[:1_000]}
    whole = describe_metadata(content.metadata)
    page["metadata"] = fitting = fit_members(whole, max_chars // 4)
    cut = [] if fitting == whole else ["metadata"]
    markdown = content.markdown or ""
    structure = structure_of(document)
    blocks, outline = structure.blocks, structure.outline
    sections = split_sections(markdown, outline)
    shortened = [_shorten(section, max_chars // 2) for section in sections]
    parts: dict[str, list[Json]] = {
        "outline": [describe_heading(heading) for heading in outline],
        "sections": [_text(section) for section in shortened],
        "tables": list(find_tables(markdown, blocks)),
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
    if shortened != sections and "sections" not in cut:
        cut.append("sections")
    return page, cut


def _shorten(section: Section, max_chars: int) -> Section:
    if len(section.text) <= max_chars:
        return section
    return replace(section, text=take_markdown(section.text, Window(0, max_chars)).text)


def describe_heading(heading: Heading) -> dict[str, Json]:
    """Return a heading as JSON: its id, rank and title, and its section's place and size."""
    return {
        "id": heading.id,
        "level": heading.level,
        "title": heading.title,
        "start": heading.start,
        "chars": heading.chars,
        "tokens": heading.tokens,
    }


def _text(section: Section) -> Json:
    return {
        "id": section.id,
        "level": section.level,
        "title": section.title,
        "text": section.text,
    }


def describe_metadata(metadata: PageMetadata) -> dict[str, Json]:
    """Return what a page says about itself, but for what it does not say."""
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
