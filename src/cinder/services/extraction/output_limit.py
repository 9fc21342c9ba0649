"""The most that extracted data may be: what is beyond is left out, and said so."""

import json
from dataclasses import replace

from cinder.extract.fields.merging import keep_values
from cinder.model.extracted_data import ExtractedData, FieldValue, Path


def cut_to_size(found: ExtractedData, max_bytes: int) -> ExtractedData:
    """Return as many of the first values as fit; of an item of an array, all or nothing."""
    room, kept, refused = max_bytes, list[FieldValue](), set[Path]()
    for each in found.values:
        room -= _bytes(each)
        if room < 0:
            refused.add(_item_of(each.path))
        else:
            kept.append(each)
    if not refused:
        return found
    kept = [each for each in kept if _item_of(each.path) not in refused]
    told = (
        f"Only {len(kept)} of {len(found.values)} values are here: more data than {max_bytes} "
        "bytes is not returned. Ask for fewer fields, or fewer pages at once."
    )
    return replace(keep_values(found, kept), warnings=(*found.warnings, told))


def _bytes(value: FieldValue) -> int:
    # Quotation marks, colon and comma as well.
    names = sum(len(part) + 4 for part in value.path if isinstance(part, str))
    return names + len(json.dumps(value.value, ensure_ascii=False).encode("utf-8", "replace")) + 2


def _item_of(path: Path) -> Path:
    """Return the item of an array that a value is part of, or else the value's own place."""
    for place, part in enumerate(path):
        if isinstance(part, int):
            return path[: place + 1]
    return path
