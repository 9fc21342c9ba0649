"""Holds data against the caller's schema: a value that the schema refuses is not an answer."""

from dataclasses import replace
from itertools import islice

from cinder.extract.fields.merging import keep_values
from cinder.extract.fields.wanted import schema_path
from cinder.llm.schema_check import SchemaCheck
from cinder.model.extracted_data import ExtractedData, Path

# What stands beneath others is seen only when those are gone.
_MAX_ROUNDS = 4
_MAX_REFUSED = 5_000
_MAX_TOLD = 10


def drop_refused(found: ExtractedData, check: SchemaCheck) -> ExtractedData:
    """Return the data without single values that the schema refuses; warnings tell which."""
    for _ in range(_MAX_ROUNDS):
        held = {each.path: each for each in found.values}
        refused = {
            place: message
            for place, message in check.violations(found.data, _MAX_REFUSED)
            if place in held
        }
        if not refused:
            break
        found = _without(found, refused)
    return found


def find_problems(found: ExtractedData, check: SchemaCheck) -> tuple[str, ...]:
    """Return where the data does not match the schema."""
    return check.problems(found.data)


def _without(found: ExtractedData, refused: dict[Path, str]) -> ExtractedData:
    kept = keep_values(found, [each for each in found.values if each.path not in refused])
    told = [
        f"{schema_path(place)}: a value was left out, for the schema refuses it: {message}"
        for place, message in islice(refused.items(), _MAX_TOLD)
    ]
    if len(refused) > _MAX_TOLD:
        told.append(f"{len(refused) - _MAX_TOLD} more values were left out for such reasons.")
    filled = {schema_path(each.path) for each in kept.values}
    lost = [field for place in refused if (field := schema_path(place)) not in filled]
    return replace(
        kept,
        missing=tuple(dict.fromkeys((*kept.missing, *lost))),
        warnings=(*kept.warnings, *told),
    )
