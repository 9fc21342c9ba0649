"""The schemas by which generated pages are extracted from, one for each kind."""

from cinder.models.document import Json

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "number"}
_WHOLE: Json = {"type": "integer"}
_FLAG: Json = {"type": "boolean"}
_DATE: Json = {"type": "string", "format": "date"}
_TEXTS: Json = {"type": "array", "items": {"type": "string"}}


def _object(title: str, /, **properties: Json) -> dict[str, Json]:
    return {"type": "object", "title": title, "properties": properties}


def _records(**properties: Json) -> Json:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


SCHEMAS: dict[str, dict[str, Json]] = {
    "product": _object(
        "Product",
        name=_TEXT,
        brand=_TEXT,
        price=_NUMBER,
        currency={"type": "string", "description": "ISO 4217 code of the price's currency"},
        sku={"type": "string", "description": "Article number of the shop"},
        rating={"type": "number", "description": "Average rating of customers"},
        reviewCount=_WHOLE,
        inStock=_FLAG,
        color=_TEXT,
    ),
    "event": _object(
        "Event",
        name=_TEXT,
        startDate=_DATE,
        venue=_TEXT,
        city=_TEXT,
        organizer=_TEXT,
        ticketPrice=_NUMBER,
        speakers=_records(name=_TEXT, topic=_TEXT),
    ),
    "person": _object(
        "Person",
        full_name=_TEXT,
        job_title=_TEXT,
        employer=_TEXT,
        email={"type": "string", "format": "email"},
        phone=_TEXT,
        birth_date=_DATE,
        languages=_TEXTS,
    ),
    "job": _object(
        "JobPosting",
        title=_TEXT,
        company=_TEXT,
        location=_TEXT,
        employmentType={"enum": ["FULL_TIME", "PART_TIME", "CONTRACT"]},
        salary={"type": "integer", "description": "Yearly pay"},
        remote=_FLAG,
        datePosted=_DATE,
        applicationDeadline={"type": "string", "format": "date", "description": "Closing date"},
    ),
    "recipe": _object(
        "Recipe",
        name=_TEXT,
        author=_TEXT,
        prepMinutes={"type": "integer", "description": "Preparation time in minutes"},
        cookMinutes={"type": "integer", "description": "Cooking time in minutes"},
        servings=_WHOLE,
        calories=_WHOLE,
        ingredients=_TEXTS,
        instructions=_TEXTS,
    ),
    "specification": _object(
        "Device",
        model=_TEXT,
        manufacturer=_TEXT,
        weight={"type": "number", "description": "Weight in kilograms"},
        dimensions=_TEXT,
        batteryLife={"type": "integer", "description": "Battery life in hours"},
        displaySize={"type": "number", "description": "Screen size in inches"},
        wireless=_FLAG,
        warranty=_TEXT,
        releaseYear=_WHOLE,
    ),
    "list": _object(
        "Catalogue",
        products=_records(name=_TEXT, price=_NUMBER, rating=_NUMBER, inStock=_FLAG),
    ),
    "article": _object(
        "Article",
        headline=_TEXT,
        author=_TEXT,
        datePublished=_DATE,
        section=_TEXT,
        readingMinutes={"type": "integer", "description": "Reading time in minutes"},
        tags=_TEXTS,
    ),
    "place": _object(
        "LocalBusiness",
        name=_TEXT,
        address={
            "type": "object",
            "properties": {"street": _TEXT, "city": _TEXT, "postalCode": _TEXT},
        },
        phone=_TEXT,
        email={"type": "string", "format": "email"},
        openingHours=_TEXT,
        rating=_NUMBER,
        wheelchairAccessible=_FLAG,
    ),
    "course": _object(
        "Course",
        title=_TEXT,
        instructor=_TEXT,
        level={"type": "string", "enum": ["beginner", "intermediate", "advanced"]},
        durationWeeks={"type": "integer", "description": "Duration in weeks"},
        startDate=_DATE,
        price=_NUMBER,
        modules=_records(title=_TEXT, lessons=_WHOLE),
    ),
    "release": _object(
        "SoftwareRelease",
        name=_TEXT,
        version=_TEXT,
        releaseDate=_DATE,
        license=_TEXT,
        sizeMb={"type": "number", "description": "Size of the download in MB"},
        platforms=_TEXTS,
        downloads=_records(file=_TEXT, platform=_TEXT, size=_NUMBER),
    ),
}
