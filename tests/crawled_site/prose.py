"""Prose that is the same in every run and of which no two pages share much."""

from random import Random


def _words(text: str) -> list[str]:
    return [word.replace("_", " ") for word in text.split()]


_ADJECTIVES = _words(
    "amber bitter brittle calm coarse cold crooked damp dark dense dusty early faint fine gentle "
    "glowing green grey heavy hollow humble idle keen late lean long loose mild narrow old pale "
    "patient plain quiet rough rusty seasoned sharp slow smooth soft sooty split steady stout tall "
    "thick thin warm weathered wide young"
)
_NOUNS = _words(
    "apron arch ash axe bark barn basket beam bellows birch blanket bough branch brick bucket "
    "cellar chimney cinder clay coal copper cottage crane damper door draught ember fence ferry "
    "field flame flue forge frost garden gate grate hammer harbour hatch hearth hill hinge hook "
    "iron kettle kiln ladder lantern larch ledge log maple meadow mill miller moss oak oven path "
    "pine pipe poker pot quarry rafter rake river roof rope sack saw shed shovel slate smith smoke "
    "spark splinter stable stack stone stove tar thatch timber tongs tower trestle tunnel wagon "
    "wall wedge well wheel willow window winter"
)
_VERBS = _words(
    "answers blackens borders burns carries cools covers crosses dries feeds fills follows guards "
    "heats hides holds joins keeps leaves lights lines marks meets moves needs outlasts passes "
    "raises reaches rests scatters seals shades shelters sorts spares splits steadies strikes "
    "supports surrounds sweeps tempers touches turns warms watches wears wraps"
)
_PLACES = _words("above after against along before behind below beside beyond near over past under")
_TIMES = _words("again always at_dawn at_dusk daily now often seldom soon still then today twice")
_TOPIC_NOUNS = 40
_SENTENCES_A_PARAGRAPH = 6


def title(subject: str) -> str:
    """Return a heading for a subject."""
    chance = Random(f"title of {subject}")
    first, second = chance.sample(_NOUNS, 2)
    return f"The {chance.choice(_ADJECTIVES)} {first} and the {second}"


def paragraphs(subject: str, sentences: int) -> list[str]:
    """Return prose about a subject, in paragraphs."""
    chance = Random(f"prose of {subject}")
    nouns = chance.sample(_NOUNS, _TOPIC_NOUNS)
    said = [_sentence(chance, nouns) for _ in range(sentences)]
    return [
        " ".join(said[start : start + _SENTENCES_A_PARAGRAPH])
        for start in range(0, sentences, _SENTENCES_A_PARAGRAPH)
    ]


def _sentence(chance: Random, nouns: list[str]) -> str:
    who, what, where = chance.sample(nouns, 3)
    first, second = chance.sample(_ADJECTIVES, 2)
    verb, place, when = chance.choice(_VERBS), chance.choice(_PLACES), chance.choice(_TIMES)
    said = chance.choice(
        (
            f"the {first} {who} {verb} a {second} {what} {place} the {where}",
            f"{place} the {where}, one {who} {verb} {second} {what}",
            f"{when} a {first} {who} {verb} its {what} {place} {second} {where}",
            f"whoever {verb} the {who} {when} needs {first} {what} and {second} {where}",
            f"{first} {who}, {second} {what}: each {verb} {where} {when}",
        )
    )
    return f"{said[0].upper()}{said[1:]}."
