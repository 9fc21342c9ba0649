"""How much of a page's metadata is read, and what is said where there was more."""

from cinder.extract.elements import Elements
from cinder.extract.metadata.sources import find_json_ld, find_meta_tags
from cinder.model.document import PageMetadata

MAX_META_TAGS = 500
MAX_VALUE_CHARS = 5_000
MAX_JSON_LD_SCRIPTS = 50
MAX_JSON_LD_CHARS = 500_000
MAX_JSON_LD_OBJECTS = 200


def find_cuts(html: str, elements: Elements, metadata: PageMetadata) -> tuple[str, ...]:
    """Return a sentence for each limit that left some of a page's metadata out."""
    found = []
    if len(find_meta_tags(elements)) > MAX_META_TAGS:
        found.append(f"Only the first {MAX_META_TAGS} meta tags of the page were read.")
    if _has_longer_json_ld(html, elements) or len(metadata.json_ld) >= MAX_JSON_LD_OBJECTS:
        found.append(
            f"Some JSON-LD of the page may be left out: at most {MAX_JSON_LD_OBJECTS} objects are "
            f"read, from {MAX_JSON_LD_SCRIPTS} scripts of {MAX_JSON_LD_CHARS} characters."
        )
    if any(len(value) == MAX_VALUE_CHARS for value in _values(metadata)):
        found.append(f"Metadata of more than {MAX_VALUE_CHARS} characters was cut.")
    return tuple(found)


def _has_longer_json_ld(html: str, elements: Elements) -> bool:
    scripts = find_json_ld(elements)
    if len(scripts) > MAX_JSON_LD_SCRIPTS:
        return True
    # No script is longer than its page.
    return len(html) > MAX_JSON_LD_CHARS and any(
        len(script.text() or "") > MAX_JSON_LD_CHARS for script in scripts
    )


def _values(metadata: PageMetadata) -> list[str]:
    said = (metadata.title, metadata.description, metadata.author, *metadata.open_graph.values())
    return [value for value in said if value]
