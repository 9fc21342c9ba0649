"""The names, places and formats that generated pages are made of."""

from datetime import date
from random import Random

FIRST = ("Ada", "Bruno", "Carla", "Dmitri", "Elena", "Farid", "Greta", "Hiro", "Ines", "Jonas")
LAST = ("Almeida", "Brandt", "Castillo", "Dubois", "Eriksen", "Fontaine", "Grabowski", "Hale")
CITIES = ("Porto", "Leeds", "Graz", "Lyon", "Tampere", "Austin", "Bergen", "Utrecht", "Girona")
STREETS = ("Mill Lane", "Harbour Road", "Station Street", "Castle Hill", "Orchard Avenue")
COMPANIES = ("Northwind Labs", "Kestrel Systems", "Bluefin Works", "Ostara Group", "Tallow & Sons")
ADJECTIVES = ("Amber", "Silent", "Granite", "Coastal", "Velvet", "Copper", "Northern", "Rapid")
THINGS = ("Kettle", "Backpack", "Lamp", "Speaker", "Tripod", "Blender", "Jacket", "Monitor")
COLOURS = ("Graphite", "Forest green", "Ivory", "Navy blue", "Terracotta")
TOPICS = (
    "tidal power",
    "type systems",
    "urban bees",
    "glacier maps",
    "bread science",
    "old radios",
)
TAGS = ("energy", "software", "gardening", "history", "cooking", "travel", "music", "design")
LANGUAGES = ("English", "Portuguese", "German", "Finnish", "Catalan", "Japanese")
LICENSES = ("Apache-2.0", "MIT", "BSD-3-Clause", "MPL-2.0")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
FILLER = (
    "We have kept this page short on purpose, and update it whenever something changes.",
    "Our team answers questions during the week, usually within a day or so.",
    "Everything here was checked by a person before it was published.",
    "If you find a mistake, please tell us and we will look into it.",
    "Readers often ask how we choose what to show; the answer is patience.",
)


def person(rng: Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def people(rng: Random, count: int) -> list[str]:
    return [
        f"{a} {b}" for a, b in zip(rng.sample(FIRST, count), rng.sample(LAST, count), strict=True)
    ]


def thing(rng: Random) -> str:
    return f"{rng.choice(ADJECTIVES)} {rng.choice(THINGS)} {rng.randint(2, 90)}"


def day(rng: Random) -> date:
    return date(rng.randint(2019, 2026), rng.randint(1, 12), rng.randint(1, 28))


def american(when: date) -> str:
    return f"{MONTHS[when.month - 1]} {when.day}, {when.year}"


def european(when: date) -> str:
    return f"{when.day} {MONTHS[when.month - 1][:3]} {when.year}"


def dates(when: date) -> tuple[str, str]:
    return american(when), european(when)


def price(rng: Random, low: int = 5, high: int = 900) -> float:
    return rng.randint(low, high) + rng.choice((0.0, 0.5, 0.99, 0.95))


def money(amount: float, code: str) -> tuple[str, str]:
    sign = {"USD": "$", "EUR": "€", "GBP": "£"}[code]
    return f"{sign}{amount:,.2f}", f"{amount:.2f} {code}"


def phone(rng: Random) -> str:
    return f"+44 20 {rng.randint(7000, 7999)} {rng.randint(1000, 9999)}"


def email(name: str, rng: Random) -> str:
    return (
        f"{name.lower().replace(' ', '.')}@{rng.choice(('kestrel', 'ostara', 'bluefin'))}.example"
    )
