"""Images a reader sees: those without a source get one, pixels that count visitors go."""

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import detach
from cinder.extract.srcset import parse_srcset, widest
from cinder.extract.tree_edits import rename

_EMOJI_IMAGES = "img.emoji, img.wp-smiley, img.twemoji, img.emojione, img.joypixels, img.smiley"
_MAX_EMOJI_TEXT = 32
_PIXEL_SIZES = frozenset(("0", "1", "0px", "1px"))
_SOURCE_SETS = ("srcset", "data-srcset", "data-lazy-srcset")
_SOURCES = ("src", "data-src", "data-lazy-src", "data-original")


def restore_images(root: LexborNode) -> bool:
    """Give images that wait for a script the source that stands beside them, if there are any."""
    waiting = [image for image in root.css("picture img") if not _own_sources(image)]
    for image in waiting:
        _take_from_picture(image)
    unseen = root.css("noscript img")
    for image in unseen:
        _take_out_of_noscript(image)
    return bool(waiting or unseen)


def remove_pixels(root: LexborNode) -> None:
    """Take out images of one pixel or none."""
    detach([image for image in root.css("img[width][height]") if is_pixel(image)])


def is_pixel(image: LexborNode) -> bool:
    """Whether an image is too small to show anything."""
    attributes = image.attributes
    return all((attributes.get(name) or "").strip() in _PIXEL_SIZES for name in ("width", "height"))


def write_emoji(root: LexborNode) -> None:
    """Put the characters in place of the images that some sites draw emoji with."""
    for image in root.css(_EMOJI_IMAGES):
        text = (image.attributes.get("alt") or "").strip()
        if text and len(text) <= _MAX_EMOJI_TEXT:
            image.replace_with(text)


def write_captions(root: LexborNode) -> None:
    """Make the caption of a figure a paragraph, its own emphasis kept apart from none."""
    for caption in root.css("figcaption"):
        rename(caption, "p" if caption.css_first("p, div, ul, ol, figure") is None else "div")


def _own_sources(image: LexborNode) -> bool:
    attributes = image.attributes
    return any(attributes.get(name) for name in (*_SOURCES, *_SOURCE_SETS))


def _take_from_picture(image: LexborNode) -> None:
    picture = image.parent
    sources = picture.css("source") if picture is not None else []
    for source in sources:
        for name in _SOURCE_SETS:
            best = widest(parse_srcset(source.attributes.get(name) or ""))
            if best:
                image.attrs["src"] = best
                return


def _take_out_of_noscript(image: LexborNode) -> None:
    """Move the image for visitors without scripts before its `noscript`, unless one is there."""
    holder = image.parent
    while holder is not None and holder.tag != "noscript":
        holder = holder.parent
    if holder is None or is_pixel(image) or len(holder.css("img")) > 1 or holder.text().strip():
        return
    waiting = _image_before(holder)
    if waiting is None:
        holder.insert_before(image, move=True)
    elif not _own_sources(waiting):
        waiting.replace_with(image, move=True)


def _image_before(holder: LexborNode) -> LexborNode | None:
    before = holder.prev
    while before is not None and not before.is_element_node:
        before = before.prev
    if before is None:
        return None
    return before if before.tag == "img" else before.css_first("img")
