"""Completes a page's tree: what scripts would place or draw stands where a visitor sees it."""

from selectolax.lexbor import LexborNode

from cinder.extract.addresses import give_lazy_images_their_source
from cinder.extract.markdown.formulas import unify_formulas
from cinder.extract.markdown.restored_images import restore_images
from cinder.extract.visibility.scriptless_part import show_scriptless_part
from cinder.extract.visibility.streamed_parts import place_streamed_parts


def complete_body(body: LexborNode) -> None:
    """Put late parts, formulas and images in place."""
    place_streamed_parts(body)
    show_scriptless_part(body)
    unify_formulas(body)
    restore_images(body)
    give_lazy_images_their_source(body)
