"""Keys: the names that a `press` action takes, and what a browser is told for each."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from string import ascii_lowercase

# As the Chrome DevTools Protocol numbers them in `Input.dispatchKeyEvent`.
MODIFIER_BITS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


@dataclass(frozen=True, slots=True)
class KeyPress:
    """A key on a US keyboard, pressed while others are held."""

    key: str
    code: str
    virtual_key_code: int
    text: str = ""
    """What it types; empty where it types nothing."""
    held: tuple["KeyPress", ...] = ()
    """The modifiers to hold down meanwhile, in the order given."""

    @property
    def modifiers(self) -> int:
        """The modifiers held, as the protocol's bit field."""
        return sum(MODIFIER_BITS[modifier.key] for modifier in self.held)


def parse_key_combination(text: str) -> KeyPress:
    """Return the key press that a name such as `Enter`, `a` or `Control+Shift+Tab` means.

    Raises:
        ValueError: it names no key; the message says the nearest that exists.
    """
    *modifiers, name = _split(text)
    held = tuple(dict.fromkeys(_find_modifier(modifier) for modifier in modifiers))
    names = {modifier.key for modifier in held}
    is_letter_of_shortcut = names and "Shift" not in names and len(name) == 1
    pressed = _find_key(name.lower() if is_letter_of_shortcut else name)
    if "Shift" in names:
        pressed = _SHIFTED.get(pressed.key, pressed)
    if names - {"Shift"}:
        # A shortcut types nothing.
        pressed = replace(pressed, text="")
    return replace(pressed, held=held)


def _split(text: str) -> list[str]:
    """Return the parts of a combination; the plus sign is a key as well."""
    if text in ("+", " "):
        return [text]
    if text.endswith("++"):
        return [*(part.strip() for part in text[:-2].split("+")), "+"]
    return [part.strip() for part in text.split("+")]


def _find_modifier(name: str) -> KeyPress:
    found = _NAMED.get(name.lower())
    if found is None or found.key not in MODIFIER_BITS:
        known = ", ".join(MODIFIER_BITS)
        raise ValueError(f"{name[:50]!r} is not a modifier. Known are: {known}")
    return found


def _find_key(name: str) -> KeyPress:
    if len(name) == 1 and name.isprintable():
        return _CHARACTERS.get(name) or KeyPress(name, "", 0, name)
    if found := _NAMED.get(name.lower()):
        return found
    nearest = difflib.get_close_matches(name[:50].lower(), _NAMED, n=1, cutoff=0.4)
    hint = f" Did you mean '{_SPELLINGS[nearest[0]]}'?" if nearest else ""
    raise ValueError(
        f"Unknown key {name[:50]!r}.{hint} A key is a single character or a name such as Enter, "
        "Tab or ArrowDown, with modifiers as in Control+A"
    )


_NAMED_KEYS = (
    KeyPress("Enter", "Enter", 13, "\r"),
    KeyPress("Tab", "Tab", 9),
    KeyPress("Escape", "Escape", 27),
    KeyPress("Backspace", "Backspace", 8),
    KeyPress("Delete", "Delete", 46),
    KeyPress("Insert", "Insert", 45),
    KeyPress("ArrowLeft", "ArrowLeft", 37),
    KeyPress("ArrowUp", "ArrowUp", 38),
    KeyPress("ArrowRight", "ArrowRight", 39),
    KeyPress("ArrowDown", "ArrowDown", 40),
    KeyPress("Home", "Home", 36),
    KeyPress("End", "End", 35),
    KeyPress("PageUp", "PageUp", 33),
    KeyPress("PageDown", "PageDown", 34),
    KeyPress("Alt", "AltLeft", 18),
    KeyPress("Control", "ControlLeft", 17),
    KeyPress("Meta", "MetaLeft", 91),
    KeyPress("Shift", "ShiftLeft", 16),
    *(KeyPress(f"F{number}", f"F{number}", 111 + number) for number in range(1, 13)),
)
_SPACE = KeyPress(" ", "Space", 32, " ")

_ALIASES = {
    "Return": "Enter",
    "Esc": "Escape",
    "Del": "Delete",
    "Left": "ArrowLeft",
    "Up": "ArrowUp",
    "Right": "ArrowRight",
    "Down": "ArrowDown",
    "PgUp": "PageUp",
    "PgDn": "PageDown",
    "Option": "Alt",
    "Ctrl": "Control",
    "Cmd": "Meta",
    "Command": "Meta",
    "Spacebar": "Space",
}

# Each key's code and number, what it types, and what it types with Shift.
_PUNCTUATION = (
    ("Backquote", 192, "`", "~"),
    ("Minus", 189, "-", "_"),
    ("Equal", 187, "=", "+"),
    ("BracketLeft", 219, "[", "{"),
    ("BracketRight", 221, "]", "}"),
    ("Backslash", 220, "\\", "|"),
    ("Semicolon", 186, ";", ":"),
    ("Quote", 222, "'", '"'),
    ("Comma", 188, ",", "<"),
    ("Period", 190, ".", ">"),
    ("Slash", 191, "/", "?"),
)


def _typing_keys() -> Iterator[tuple[KeyPress, KeyPress]]:
    """Yield each key that types a character, as it is and with Shift."""
    letters = ((f"Key{c.upper()}", ord(c.upper()), c, c.upper()) for c in ascii_lowercase)
    digits = ((f"Digit{n}", ord(f"{n}"), f"{n}", above) for n, above in enumerate(")!@#$%^&*("))
    for code, number, plain, shifted in (*letters, *digits, *_PUNCTUATION):
        yield KeyPress(plain, code, number, plain), KeyPress(shifted, code, number, shifted)


_TYPING = tuple(_typing_keys())
_CHARACTERS = {" ": _SPACE} | {press.key: press for pair in _TYPING for press in pair}
_SHIFTED = {plain.key: shifted for plain, shifted in _TYPING}

_BY_NAME = {press.key: press for press in _NAMED_KEYS} | {"Space": _SPACE}
_BY_NAME |= {alias: _BY_NAME[name] for alias, name in _ALIASES.items()}
_NAMED = {name.lower(): press for name, press in _BY_NAME.items()}
_SPELLINGS = {name.lower(): name for name in _BY_NAME}
