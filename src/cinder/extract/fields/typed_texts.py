"""Texts that their form tells: prices, ratings, mail addresses, telephone numbers."""

import re

_SIGNS = r"[$€£¥₹₽₩₺]"
_CODES = (
    "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|INR|CNY|BRL|MXN|ZAR|TRY|SGD|HKD|KRW"
)
NUMBER = (
    r"\d{1,3}(?:[,.'\u2019\u00a0\u202f ]\d{3}){1,4}(?:[.,]\d{1,2})?(?!\d)|\d{1,15}(?:[.,]\d{1,15})?"
)
_PRICE = re.compile(
    rf"(?:{_SIGNS}|\b(?:{_CODES}))\s?(?:{NUMBER})k?|(?<![\d.,])(?:{NUMBER})\s?(?:{_SIGNS}(?!\s?\d)|(?:{_CODES})\b)"
)
_RATING = re.compile(
    r"(?<![\d.,/])\d(?:[.,]\d{1,2})?\s?"
    r"(?:/\s?(?:5|10)(?![\d/])|out of (?:5|10)\b|(?:of 5 )?stars?\b|★)"
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}")
_PHONE = re.compile(r"(?<![\w+])(?:\+|\(|\d)[\d\s().\-/]{5,20}\d(?!\w)")
_STOCK = re.compile(r"\A\W{0,3}(?:(?:in|out of) stock|sold out)\b", re.IGNORECASE)
_MAX_STOCK_CHARS = 60
_CURRENCIES = {
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₺": "TRY",
}
_CURRENCY = re.compile(rf"{_SIGNS}|\b(?:{_CODES})\b")
_MIN_PHONE_DIGITS = 6


def find_price(text: str) -> str | None:
    """Return the first amount of money in a text, with its currency."""
    return _first(_PRICE, text)


def find_rating(text: str) -> str | None:
    """Return the first rating in a text: `4.5 out of 5`."""
    return _first(_RATING, text)


def find_email(text: str) -> str | None:
    """Return the first mail address in a text."""
    return _first(_EMAIL, text)


def find_phone(text: str) -> str | None:
    """Return the first telephone number in a text."""
    for found in _PHONE.finditer(text):
        if sum(character.isdigit() for character in found[0]) >= _MIN_PHONE_DIGITS:
            return found[0]
    return None


def find_stock(text: str) -> str | None:
    """Return what a short text that begins so says of being in stock."""
    return _first(_STOCK, text) if len(text) <= _MAX_STOCK_CHARS else None


def find_currency(text: str) -> tuple[str, str] | None:
    """Return the first sign or code of a currency in a text, and the code that it stands for."""
    found = _first(_CURRENCY, text)
    return (found, _CURRENCIES.get(found, found)) if found else None


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[0] if found else None
