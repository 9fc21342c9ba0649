"""What a PDF says about itself: title, author, dates, language, keywords."""

import re

from cinder.extract.html_tree import collapse
from cinder.extract.pdf.pdfium import Handle, count_pages, read_info, read_language
from cinder.model.document import PageMetadata

_MAX_CHARS = 1_000
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?"
)


def read_pdf_metadata(document: Handle) -> PageMetadata:
    """Collect what a PDF says about itself; what it does not say is None or empty."""
    return PageMetadata(
        title=_entry(document, "Title"),
        description=_entry(document, "Subject"),
        language=collapse(read_language(document))[:_MAX_CHARS] or None,
        author=_entry(document, "Author"),
        published=normalise_pdf_date(read_info(document, "CreationDate")),
        modified=normalise_pdf_date(read_info(document, "ModDate")),
        keywords=_keywords(_entry(document, "Keywords") or ""),
        page_count=count_pages(document),
    )


def normalise_pdf_date(text: str) -> str | None:
    """Return a date such as `D:20251115183000+01'00'` in ISO 8601, as exact as it is given."""
    found = _DATE.match(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, zulu, sign, zone_hour, zone_minute = found.groups()
    date = "-".join(filter(None, (year, month, day)))
    if hour is None:
        return date
    zone = "+00:00" if zulu else f"{sign}{zone_hour}:{zone_minute or '00'}" if sign else ""
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}"


def _entry(document: Handle, name: str) -> str | None:
    return collapse(read_info(document, name))[:_MAX_CHARS] or None


def _keywords(said: str) -> tuple[str, ...]:
    words = (word.strip() for word in re.split(r"[,;]", said))
    return tuple(dict.fromkeys(filter(None, words)))
