"""Where a page says what it is: its meta tags and its scripts of JSON-LD."""

from selectolax.lexbor import LexborNode

from cinder.extract.elements import Attributes, Elements

_JSON_LD = "application/ld+json"


def find_meta_tags(elements: Elements) -> list[Attributes]:
    """Return the attributes of the meta tags that say anything."""
    return [
        attributes
        for attributes in map(elements.attributes, elements.tagged("meta"))
        if "content" in attributes
    ]


def find_json_ld(elements: Elements) -> list[LexborNode]:
    """Return the scripts that hold JSON-LD."""
    scripts = elements.tagged("script")
    return [
        elements.node(place)
        for place in scripts
        if (elements.attributes(place).get("type") or "").lower() == _JSON_LD
    ]
