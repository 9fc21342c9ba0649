"""What a caller wants made of a page."""

from dataclasses import dataclass, field

from cinder.model.request import ContentOptions, Format


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """Which formats to produce, and what counts as the page's content."""

    formats: tuple[Format, ...] = (Format.MARKDOWN,)
    content: ContentOptions = field(default_factory=ContentOptions)
    strip_chrome_tags: bool = True
    remove_base64_images: bool = True

    @property
    def wants_markdown(self) -> bool:
        """Whether markdown is to be made: asked for or needed, and not switched off by `clean`."""
        needed_by = (Format.MARKDOWN, Format.CHANGE_TRACKING, Format.SUMMARY)
        return self.content.clean and any(wanted in self.formats for wanted in needed_by)
