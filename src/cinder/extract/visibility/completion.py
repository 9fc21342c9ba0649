"""Completes a page's tree: what scripts would place or draw stands where a visitor sees it."""

from cinder.extract.addresses import give_lazy_images_their_source
from cinder.extract.elements import Elements
from cinder.extract.markdown.formulas import may_hold_formulas, unify_formulas
from cinder.extract.markdown.restored_images import restore_images
from cinder.extract.visibility.scriptless_part import show_scriptless_part
from cinder.extract.visibility.streamed_parts import place_streamed_parts


def complete_body(elements: Elements) -> bool:
    """Put late parts, formulas and images in place; return whether that changed anything."""
    # Each looks through the whole tree, and most pages have nothing for most of them.
    steps = (
        (elements.have_attribute("hidden"), place_streamed_parts),
        (elements.have_tag("noscript"), show_scriptless_part),
        (may_hold_formulas(elements), unify_formulas),
        (elements.have_tag("picture", "noscript"), restore_images),
        (elements.have_tag("img"), give_lazy_images_their_source),
    )
    changes = [step(elements.root) for is_needed, step in steps if is_needed]
    return any(changes)
