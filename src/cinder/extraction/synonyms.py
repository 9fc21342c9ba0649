"""Splits labels and field names into words, unifies synonyms and scores how well two agree."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from cinder.text.terms import find_terms

PHRASES = {
    "name": "title|headline|heading|full name|fullname|product name|item name|display name|"
    "product title|article title|caption|dish|recipe name|event name|business name|company name|"
    "course title|course name|legal name",
    "price": "cost|amount|fee|charge|our price|price now|current price|sale price|selling price|"
    "unit price|preis|prix|precio|tuition|offers price",
    "old price": "original price|list price|regular price|was|was price|previous price|msrp|rrp|"
    "strike price|price before",
    "ticket price": "admission|entry fee|entrance fee|ticket cost|admission fee",
    "low price": "minimum price|min price|price from|from price|lowest price",
    "high price": "maximum price|max price|price to|highest price",
    "currency": "price currency|currency code|salary currency",
    "sku": "article number|item number|product code|item code|stock number|stock keeping unit|"
    "part number|part no|article no|item no|catalogue number|catalog number|mpn|product id|"
    "product number|order number|order code|art no|model number|model no|reference number",
    "model": "model name|device model",
    "brand": "brand name|make|marque|label name",
    "manufacturer": "maker|made by|producer|produced by|vendor|hersteller",
    "rating": "stars|score|rating value|customer rating|average rating|user rating|star rating|"
    "rated|aggregate rating rating value|review score|overall rating|rating stars",
    "review count": "number of reviews|reviews|rating count|number of ratings|"
    "total reviews|review total|reviews total|customer reviews|votes|ratings total",
    "in stock": "availability|available|stock|stock status|is available|in stock now|"
    "stock availability|offers availability",
    "color": "colour|farbe|couleur|color name|colour name",
    "size": "file size|filesize|download size|content size|größe",
    "dimension": "dimensions|measurements|product dimensions|size in cm|measures|"
    "overall dimensions",
    "weight": "net weight|item weight|mass|gewicht|shipping weight|product weight",
    "display size": "screen size|screen|display|display diagonal|screen diagonal|diagonal",
    "battery life": "battery|battery runtime|battery duration|runtime|battery time|"
    "running time on battery",
    "warranty": "guarantee|warranty period|garantie",
    "release year": "year|year of release|year released|launch year|released in|model year|"
    "production year|year of manufacture|since",
    "material": "fabric|materials|made of|made from",
    "description": "summary|abstract|about|overview|details|synopsis|teaser|beschreibung|excerpt",
    "email": "e mail|mail|email address|e mail address|contact email|write to us|mail us|"
    "write us|electronic mail",
    "phone": "telephone|tel|phone number|telephone number|mobile|call|call us|hotline|"
    "contact number|fon|telefon|mobile number|cell|cell phone|contact phone|ring us|telephone no",
    "fax": "fax number|telefax|facsimile",
    "url": "link|website|web site|homepage|web address|site|web page|webpage|href|address url",
    "image": "photo|picture|img|thumbnail|image url|cover|photo url|logo image",
    "address": "postal address|location address|mailing address|adresse|street address full",
    "street": "street address|road|address line|address line 1|street name|straße",
    "city": "town|locality|address locality|municipality|stadt|ville|ort",
    "region": "state|province|address region|county|state or province",
    "postal code": "zip|zip code|postcode|post code|postalcode|plz|zipcode|postal",
    "country": "nation|address country|country name|land",
    "location": "place|place of work|job location|work location|where|workplace|office location|"
    "job place|based in|standort|job location address locality|location city",
    "venue": "location name|hall|place of event|event location|event venue|venue name",
    "opening hour": "opening hours|hours|open|opening times|business hours|opening hours "
    "specification|working hours|öffnungszeiten|open hours|hours of operation|opened",
    "author": "by|byline|written by|writer|posted by|created by|creator|recipe by|contributor|"
    "autor|auteur|author name|story by|words by|text by|chef|author by",
    "organizer": "organiser|organized by|organised by|host|hosted by|presented by|"
    "event organizer|veranstalter|organizer name|promoter",
    "publisher": "published by|publishing house",
    "published date": "date published|publication date|published|published on|posted|posted on|"
    "date posted|publish date|pub date|release time|published time|posting date|"
    "article published time|date of publication|issued|listed on|listing date|date issued|"
    "publication time|post date",
    "modified date": "date modified|updated|last updated|last modified|updated on|modified|"
    "modified time|article modified time|last update|revised|date updated",
    "start date": "start|starts|begins|begin|from date|date start|when|date from|starts on|"
    "starting date|start time|event date|date and time|date time|begin date|commences|"
    "start day|beginning|course start|starting",
    "end date": "end|ends|until|to date|end time|finish date|finishes|date to|ends on",
    "application deadline": "deadline|closing date|apply by|valid through|closes|closes on|"
    "apply before|applications close|application closing date|last day to apply|"
    "application deadline date|closing",
    "release date": "released|released on|date of release|date released|launch date|"
    "launched|release day|available since",
    "birth date": "born|date of birth|birthday|birthdate|born on|dob|birth day|geboren",
    "death date": "died|date of death",
    "job title": "position|role|occupation|profession|designation|function|post held|"
    "current position|current role",
    "employer": "company|works for|hiring organization|organization|organisation|firm|"
    "works at|employer name|hiring company|affiliation|current employer|workplace name|"
    "hiring organization name",
    "department": "team|division|faculty|group name",
    "employment type": "contract type|job type|type of employment|work type|type of contract|"
    "employment|contract|working time|type of job|schedule type|position type|engagement",
    "salary": "pay|annual pay|wage|compensation|base salary|annual salary|yearly salary|"
    "remuneration|base salary value|yearly pay|gehalt|pay rate|salary per year|gross salary|"
    "base salary value value",
    "remote": "remote work|work from home|home office|is remote|remote working|telecommute|"
    "remote possible|homeoffice|remote ok|remote friendly|telework",
    "experience": "years of experience|experience required|experience level|experience "
    "requirements",
    "education": "degree|qualification|qualifications|education requirements",
    "skill": "skills|competencies|expertise|key skills",
    "language": "languages|speaks|languages spoken|knows language|spoken languages|in language|"
    "language skills|sprachen",
    "nationality": "citizenship|national of",
    "prep time": "preparation time|prep|preparation|preptime|time to prepare|prepare time|"
    "prep minutes|preparing time",
    "cook time": "cooking time|cook|cooking|cooktime|baking time|bake time|cook minutes|"
    "time to cook",
    "total time": "ready in|overall time|time needed|total minutes|total duration",
    "serving": "servings|serves|yield|yields|portions|recipe yield|number of servings|"
    "people served|portion count",
    "calorie": "calories|energy|kcal|nutrition calories|energy value|calories per serving|"
    "calorific value",
    "ingredient": "ingredients|you will need|what you need|recipe ingredient|zutaten|"
    "shopping list|what you ll need|you need",
    "instruction": "instructions|method|directions|steps|preparation steps|recipe instructions|"
    "how to make it|procedure|how to|zubereitung|how to cook|how to make|step by step",
    "cuisine": "recipe cuisine|kitchen",
    "category": "section|article section|genre|type of article|rubric|recipe category|topic area|"
    "department name|filed under|kategorie|channel",
    "tag": "tags|keywords|keyword|labels|tagged|article tag|news keywords",
    "topic": "subject|talk|talk title|theme|knows about|speaks about|speaks on|presentation",
    "reading time": "time to read|read time|reading minutes|time required|min read|"
    "reading duration|estimated reading time|minutes to read|read in",
    "instructor": "teacher|taught by|lecturer|tutor|trainer|professor|instructed by|"
    "course instructor|led by|instructor name|facilitator|course leader",
    "level": "difficulty|educational level|skill level|course level|difficulty level|"
    "grade|experience needed|niveau",
    "duration": "length|runs for|course length|time span|running time|how long|course duration|"
    "playing time|period|takes|dauer|lasts|term",
    "lesson": "lessons|number of lessons|lesson count|lectures|units|number of lectures|"
    "lessons count|classes",
    "module": "modules|syllabus|curriculum|course content|course modules|chapters|outline|"
    "has part|course outline|contents",
    "speaker": "speakers|performers|performer|presenters|line up|lineup|panelists|"
    "who is speaking|artists",
    "version": "current version|software version|latest version|version number|release version|"
    "latest release|current release|stable version|ver",
    "license": "licence|software license|license type|licensing|licensed under|licence "
    "type|license terms",
    "platform": "platforms|operating system|operating systems|os|system|systems|supported "
    "platforms|runs on|supported systems|available for|compatible with|supported operating "
    "systems",
    "download": "downloads|artifacts|builds|packages|binaries|download files",
    "file": "file name|filename|download name|archive|package file|asset",
    "product": "products|goods|articles for sale|product list|item list element|our products|"
    "all products|catalogue items",
    "wheelchair accessible": "wheelchair access|wheelchair|accessible|accessibility|step free|"
    "barrier free|disabled access|wheelchair friendly",
    "wireless": "wifi|wi fi|bluetooth|cordless|radio|wireless connectivity",
    "age": "years old",
    "gender": "sex",
    "isbn": "isbn 13|isbn 10|isbn13",
    "gtin": "ean|upc|barcode|gtin13|gtin 13",
    "condition": "item condition|state of item|quality",
    "delivery": "shipping|shipping time|delivery time|ships in|lead time|dispatch",
    "page count": "pages|number of pages|page number total",
    "population": "inhabitants|residents|einwohner",
    "area": "surface|surface area|floor area|total area|living area",
    "bedroom": "bedrooms|beds|number of bedrooms",
    "bathroom": "bathrooms|baths|number of bathrooms",
    "capacity": "seats|maximum capacity|volume|max attendees",
    "status": "state of project|current status",
}

# What many names have and few need: units, counts, fillers.
LIGHT_WORDS = frozenset(
    (
        *("minute", "minutes", "hour", "hours", "week", "weeks", "day", "days", "month", "months"),
        *("second", "seconds", "min", "mins", "kg", "gram", "kilogram", "mb", "gb", "kb", "inch"),
        *("inches", "cm", "mm", "meter", "time", "count", "number", "total", "value", "text"),
        *("info", "information", "item", "current", "is", "has", "id", "average", "main", "full"),
        *("customer", "product", "details", "data", "field", "label", "content", "box", "per"),
        *(
            "usd",
            "eur",
            "gbp",
            "list",
            "date",
            "primary",
            "official",
            "ticket",
            "aggregate",
            "base",
            "offers",
        ),
    )
)


Words = tuple[str, ...]

_MAX_LABEL_CHARS = 200
_MAX_WORDS = 12
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_STOP_WORDS = frozenset(
    ("a", "an", "the", "of", "for", "in", "by", "to", "and", "is", "your", "our")
)
_LIGHT = 0.3
_CONTEXT = 0.15
_PATH = 0.25
_LEAST_DESCRIBED = 0.5
_DESCRIBED = 0.72


@lru_cache(maxsize=20_000)
def words_of(text: str) -> Words:
    """Return the words of a name or label, in order, synonyms in one form, no stop words."""
    apart = _HUMP.sub(" ", text[:_MAX_LABEL_CHARS])
    stems = list(find_terms(apart))[:_MAX_WORDS]
    kept = [stem for stem in stems if stem not in _STOP_WORDS] or stems
    return tuple(dict.fromkeys(_unified(kept, stems)))


def plain_words_of(text: str) -> Words:
    """Return the words of a name, in order, each as it is."""
    return tuple(dict.fromkeys(find_terms(_HUMP.sub(" ", text[:_MAX_LABEL_CHARS]))))[:_MAX_WORDS]


def synonyms_of(text: str) -> Words:
    """Return the words of what else a page may call what a name means; nothing if unknown."""
    apart = _HUMP.sub(" ", text[:_MAX_LABEL_CHARS])
    stems = list(find_terms(apart))[:_MAX_WORDS]
    kept = [stem for stem in stems if stem not in _STOP_WORDS] or stems
    found = (word for meant in _meanings(kept, stems) for word in _OTHER_WORDS.get(meant, ()))
    return tuple(dict.fromkeys(found))


def _unified(kept: list[str], stems: list[str]) -> Iterator[str]:
    for meant in _meanings(kept, stems):
        yield from meant


def _meanings(kept: list[str], stems: list[str]) -> Iterator[Words]:
    """Yield what the phrases of a name mean, in order; an unknown word means itself."""
    whole = _SYNONYMS.get(tuple(stems)) or _SYNONYMS.get(tuple(kept))
    if whole is not None:
        yield whole
        return
    place = 0
    while place < len(kept):
        for length in range(min(_LONGEST, len(kept) - place), 0, -1):
            meant = _SYNONYMS.get(tuple(kept[place : place + length]))
            if meant is not None:
                yield meant
                place += length
                break
        else:
            yield (kept[place],)
            place += 1


def _stems(phrase: str) -> Words:
    return tuple(find_terms(phrase))


def _without_stop_words(stems: Words) -> Words:
    return tuple(stem for stem in stems if stem not in _STOP_WORDS) or stems


def _read_phrases() -> dict[Words, Words]:
    """Return what each phrase means; one without its stop words only where that is no other's."""
    said = [
        (_stems(phrase), _stems(meaning))
        for meaning, phrases in PHRASES.items()
        for phrase in (meaning, *phrases.split("|"))
    ]
    shortened: dict[Words, set[Words]] = {}
    for phrase, meant in said:
        shortened.setdefault(_without_stop_words(phrase), set()).add(meant)
    plain = {
        phrase: meant.pop()
        for phrase, meant in shortened.items()
        if len(meant) == 1 and len(phrase) > 1
    }
    return plain | dict(said)


def _read_other_words() -> dict[Words, Words]:
    """Return the words of all the phrases for each meaning."""
    return {
        _stems(meaning): tuple(
            dict.fromkeys(
                stem
                for phrase in phrases.split("|")
                for stem in _without_stop_words(_stems(phrase))
            )
        )
        for meaning, phrases in PHRASES.items()
    }


_SYNONYMS = _read_phrases()
_OTHER_WORDS = _read_other_words()
_LONGEST = max(map(len, _SYNONYMS))
_LIGHT_STEMS = frozenset(stem for word in LIGHT_WORDS for stem in find_terms(word))


def agreement(field: Words, context: Words, label: Words, path: Words = ()) -> float:
    """Return from 0 to 1 how well a label agrees with a field's name.

    Args:
        field: the words of the field's name.
        context: the words of what the field belongs to, which a label may leave out.
        label: the words of the label.
        path: the words of what the labelled thing belongs to.
    """
    wanted, said = set(field), set(label)
    beside = set(path) - said
    shared = _weigh(wanted & said, ()) + _weigh(wanted & beside, ())
    if not shared:
        return 0.0
    lacking = _weigh(wanted - said - beside, context)
    beyond = _weigh(said - wanted, context)
    aside = sum(_PATH for word in beside - wanted - set(context) if word not in _LIGHT_STEMS)
    return shared / (shared + lacking + beyond + min(aside, 2 * _PATH))


def described(description: Words, label: Words) -> float:
    """Return how well a label agrees with what a field's description says of it."""
    telling = [word for word in label if word not in _LIGHT_STEMS]
    if not telling or not set(telling) <= set(description):
        return 0.0
    head = next(word for word in description if word not in _LIGHT_STEMS)
    return _DESCRIBED if head in telling else _LEAST_DESCRIBED


def is_light(word: str) -> bool:
    """Whether a word says little: a unit, a filler."""
    return word in _LIGHT_STEMS


def _weigh(words: Iterable[str], context: Words) -> float:
    weights = (
        _CONTEXT if word in context else _LIGHT if word in _LIGHT_STEMS else 1.0 for word in words
    )
    return sum(weights)
