"""Consent walls: pages that show nothing but a request for cookie consent.

A banner over a page is not one: there, other things stand beside the question.
"""

from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.phrases import any_of

_MAX_WORDS = 700
_MAX_OTHER_WORDS = 70
_MIN_SHARE = 0.6
_MIN_WORDS_OF_QUESTION = 5

_ADDRESS = any_of(
    r"(?:^|[/._-])(?:consent|collectconsent|cookie-?wall|cookie-?consent|privacy-?gate|"
    r"privacy-?wall|zustimmung|myprivacy|cmp|guce)(?=[/._-]|$)"
)
# What is spoken of where consent is asked for.
_TOPICS = (
    *("cookie", "consent", "privacy", "personal data", "personalised ad", "personalized ad"),
    *("personalized content", "personalised content", "our partners", "tracking"),
    *("zustimm", "einwillig", "datenschutz", "werbung", "partner", "personenbezogen"),
    *("akzeptier", "pur-abo", "werbetracking"),
    *("consentement", "vie privée", "confidentialité", "traceurs", "partenaires", "données"),
    *("consentimiento", "privacidad", "datos personales", "socios", "almacenamos"),
    *("consentimento", "dados pessoais", "parceiros", "consenso", "dati personali"),
    *("toestemming", "persoonsgegevens", "akkoord", "prywatno", "zgod", "dane osobowe"),
    *("samtycke", "integritet", "personuppgifter", "samtykke", "persondata"),
    *("souhlas", "soukromí", "согласи", "куки", "конфиденциальн", "çerez", "gizlilik"),
    *("クッキー", "同意", "プライバシー", "隐私", "쿠키", "동의", "개인정보"),
)
# A button that gives it.
_ACCEPT = any_of(
    r"\W*(?:yes,? )?(?:i )?(?:accept|agree|consent|allow)"
    r"(?: (?:all|and|&|cookies|to)\b.{0,40})?\W*",
    r"\W*(?:i agree\b.{0,40}|ok(?:ay)?|got it)\W*",
    r"\W*(?:alles? |cookies )?(?:akzeptieren|zustimmen|annehmen|erlauben)(?: und .{0,30})?\W*",
    r"\W*(?:einverstanden|(?:tout )?(?:accepter|j.accepte)(?: .{0,30})?)\W*",
    r"\W*(?:aceptar|acepto|aceitar|aceito|concordo|accetta|accetto)(?: .{0,30})?\W*",
    r"\W*(?:alles )?(?:accepteren|akkoord|accepteer)(?: .{0,30})?\W*",
    r"\W*(?:akceptuj\w*|zgadzam się|przejdź do serwisu)(?: .{0,30})?\W*",
    r"\W*(?:godkänn|acceptera|godta|godkend|tillad|přijmout|souhlasím)(?: .{0,30})?\W*",
    r"\W*(?:принять|согласен|kabul et)(?: .{0,30})?\W*",
    r"\W*(?:同意|すべて受け入れ|接受|동의|수락).{0,12}\W*",
)
_MAX_BUTTON_CHARS = 80


def find_consent_signs(reading: PageEvidence) -> str | None:
    """Return what shows that a page is only the question for consent; None if nothing does."""
    if not reading.is_html or reading.is_long or reading.words > _MAX_WORDS:
        return None
    button = _find_button(reading)
    if button is None:
        return None
    about = [sentence for sentence in reading.sentences if _is_about_consent(sentence)]
    if about and reading.was_redirected_elsewhere and _is_consent_address(reading):
        return f"the address leads to a question for consent ({reading.path[:100]})"
    if _is_all_there_is(reading, about):
        return f"the page asks for consent ('{button}') and shows little else"
    return None


def _is_consent_address(reading: PageEvidence) -> bool:
    return _ADDRESS.search(f"{reading.host}{reading.path}".lower()) is not None


def _find_button(reading: PageEvidence) -> str | None:
    lines = (line.strip() for line in reading.outline.text.lower().splitlines())
    short = (line for line in lines if len(line) <= _MAX_BUTTON_CHARS)
    return next((line for line in short if _ACCEPT.fullmatch(line)), None)


def _is_about_consent(sentence: str) -> bool:
    return any(topic in sentence for topic in _TOPICS)


def _is_all_there_is(reading: PageEvidence, about: list[str]) -> bool:
    """Whether nearly everything on a page is about consent, and it is asked for in a sentence."""
    others = set(reading.sentences) - set(about)
    other_words = sum(map(_count_words, others))
    total = max(1, sum(len(sentence.encode()) for sentence in reading.sentences))
    share = sum(len(sentence.encode()) for sentence in about) / total
    is_asked = any(_count_words(sentence) >= _MIN_WORDS_OF_QUESTION for sentence in about)
    return is_asked and other_words <= _MAX_OTHER_WORDS and share >= _MIN_SHARE


def _count_words(text: str) -> int:
    """Return about how many words there are; where they have no spaces, judged by their length."""
    return max(len(text.split()), len(text.encode()) // 12)
