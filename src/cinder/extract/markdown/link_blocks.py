"""Links as markdown can say them: around words or one image, never around blocks."""

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import detach
from cinder.extract.tree_edits import children, move_into, text_of, unwrap, wrap_children

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = frozenset(
    (*_HEADINGS, "p", "div", "section", "article", "figure", "figcaption", "ul", "ol", "li", "dl")
)
_LINKS_IN_HEADINGS = ", ".join(f"{tag} a" for tag in _HEADINGS)
# What themes and generators show as the link to a heading.
_PERMALINK_TEXTS = frozenset(
    ("", "#", "##", "###", "¶", "§", "🔗", "⚓", "∞", "link", "anchor", "permalink", "[link]")
)
_EDIT_LINKS = ".mw-editsection, .headerlink, a.hash-link, a.header-anchor"
_MAX_ANCESTORS = 30


def normalise_links(root: LexborNode) -> None:
    """Drop the links that only name their heading, and move links around blocks into one."""
    detach(root.css(_EDIT_LINKS))
    for link in root.css(_LINKS_IN_HEADINGS):
        _drop_permalink(link)
    done: set[int] = set()
    # Little stands in links, so that it is soon looked through.
    for block in [node for node in root.css("a *") if node.tag in _BLOCKS]:
        link_or_none = _enclosing(block, "a")
        if link_or_none is not None and link_or_none.mem_id not in done:
            done.add(link_or_none.mem_id)
            _move_inside(link_or_none)


def _drop_permalink(link: LexborNode) -> None:
    text = text_of(link).strip().strip("\u200b\u200c\u200d").lower()
    if text in _PERMALINK_TEXTS and link.css_first("img") is None:
        detach([link])
        return
    heading = _enclosing(link, *_HEADINGS)
    target = (link.attributes.get("href") or "").rpartition("#")
    own_ids = {heading.id if heading is not None else None, link.id}
    if target[1] and target[2] and target[2] in own_ids:
        unwrap(link)


def _enclosing(node: LexborNode, *tags: str) -> LexborNode | None:
    above = node.parent
    for _ in range(_MAX_ANCESTORS):
        if above is None or above.tag in tags:
            return above
        above = above.parent
    return None


def _move_inside(link: LexborNode) -> None:
    """Link the heading of a card, or its first line, instead of the whole card."""
    target = _named_block(link)
    if target is None:
        _keep_images(link)
        return
    if href := link.attributes.get("href"):
        wrap_children(target, "a").attrs["href"] = href
    unwrap(link)


def _keep_images(link: LexborNode) -> None:
    """Leave a link without words only its images, which blocks around them would hide."""
    images = link.css("img")
    if images and not text_of(link).strip():
        inside = children(link)
        move_into(link, images)
        image_ids = {image.mem_id for image in images}
        detach([node for node in inside if node.mem_id not in image_ids and node.is_element_node])


def _named_block(link: LexborNode) -> LexborNode | None:
    for heading in link.css(", ".join(_HEADINGS)):
        if text_of(heading).strip():
            return heading
    for node in link.traverse(include_text=True, skip_empty=True):
        if node.is_text_node and (node.text_content or "").strip():
            block = _enclosing(node, "a", *_BLOCKS)
            return block if block is not None and block.tag != "a" else None
    return None
