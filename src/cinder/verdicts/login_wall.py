"""Login walls: pages that ask for a login instead of showing the requested content.

A form to log in stands on many pages; it is the page only where little else does.
"""

import re

from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.phrases import any_of

_MAX_WORDS = 260
_MAX_WORDS_AROUND_BUTTONS = 110
_MIN_WORDS_OF_FORM = 3
# Beside a form or a plea: the terms, a line on registering, a link for lost passwords.
_MAX_OTHER_SENTENCE_BYTES = 250
_MAX_WORDS_OF_NAME = 6
_FORM_BYTES = 4_000

_PASSWORD = re.compile(rb"(?i)<input(?=[\s/])[^<>]{0,500}\stype\s*=\s*[\"']?password\b")
# Some applications carry a form for password managers that nobody sees.
_HIDDEN = re.compile(rb"(?i)display\s*:\s*none|\shidden[\s=>]")
_PATH = any_of(
    r"/(?:log-?_?in|sign-?_?in|logon|auth(?:wall|enticate|orize)?|sso|saml2?|idp|oauth2?|"
    r"wp-login\.php|connexion|anmelden|inloggen|identification|session/new|checkpoint|cas/login)"
    r"(?=[/.?_-]|$)"
)
_HOST = any_of(r"^(?:log-?in|sign-?in|auth|accounts?|sso|idp?|identity)\.")
_NAME = any_of(
    r"\b(?:log ?in|sign ?in|log ?on|sign ?up|web login|anmeld(?:en|ung)|einloggen)\b",
    r"\b(?:connexion|se connecter|identifiez-vous|inicia(?:r)? sesión|acceder|entrar)\b",
    r"\b(?:iniciar sessão|accedi|inloggen|aanmelden|zaloguj|logowanie|logga in|logg inn)\b",
    r"\b(?:log ind|přihlášení|přihlásit|giriş|вход|войти|войдите|авторизация)\b",
    r"ログイン|登录|登入|로그인",
)
_ENTER = r"(?:log(?:ged)?[ -]?in|sign(?:ed)?[ -]?in|sign up|register|join|create an account)"
# That the page itself is to be had only by logging in.
_PLEA = any_of(
    r"\b(?:must|need to|have to|should|required to) (?:first )?(?:be )?(?:registered and )?"
    rf"{_ENTER}\b"
    r"(?: \w+){0,4}? (?:to|before|in order)\b",
    r"requires you to be (?:registered|logged)|(?:you are|you.re) not logged in",
    r"(?:log|sign) ?in (?:or \w+(?: \w+){0,3} )?(?:to|in order to) "
    r"(?:continue|view|see|access|read|proceed|use|get)\b",
    r"(?:sign up|register|join(?: \w+)?) (?:now )?to (?:continue|view|see|access)\b",
    r"(?:for|to) (?:registered |logged-in )?(?:members|users) only",
    r"members[ -]only (?:area|page|content)",
    r"only (?:available |visible |accessible )?(?:to|for) (?:registered|logged[ -]in|members)",
    r"(?:müssen|musst)\b.{0,40}(?:angemeldet|eingeloggt|anmelden|einloggen)",
    r"meld(?:e|en sie) (?:dich|sich) .{0,30}\ban, um|(?:anmelden|einloggen), um",
    r"nur für (?:angemeldete |registrierte )?(?:mitglieder|nutzer|benutzer)",
    r"(?:devez|faut) (?:être (?:connecté|identifié)|vous (?:connecter|identifier))",
    r"(?:connectez|identifiez)-vous (?:pour|afin)|réservé\w* aux (?:membres|adhérents)",
    r"(?:debes?|necesitas?|tienes que) (?:iniciar sesión|estar (?:registrad|conectad|identificad)|"
    r"identificarte|registrarte)|iniciar? sesión para",
    r"(?:precisa|deve|necessário) (?:estar (?:logad|autenticad)|fazer login|iniciar sessão|entrar)",
    r"(?:faça login|inicie sessão|entre) para",
    r"(?:devi|necessario|occorre) (?:effettuare (?:il |l.)|accedere|essere registrat|autenticar)",
    r"accedi (?:o registrati )?per|(?:moet|dient)\b.{0,20}(?:ingelogd|aangemeld|inloggen)",
    r"\blog in om\b",
    r"(?:musisz|należy) (?:się zalogować|być zalogowan)|zaloguj się,? (?:aby|żeby)",
    r"måste (?:vara inloggad|logga in)|logga in för att|(?:logg inn|log ind) for (?:å|at)",
    r"musíte (?:být přihlášen|se přihlásit)|giriş yap(?:mal.|man.z|.n)",
    r"(?:необходимо|нужно|требуется) (?:войти|авториз|зарегистр)|войдите,? чтобы",
    r"только для зарегистрированных|ログイン(?:が必要|してください|して続)",
    r"(?:请|請)先?(?:登录|登入)|需要登[录入]|登[录入]后(?:查看|可见|继续)",
    r"로그인(?:이|을)? ?(?:필요|해 ?주세요|하세요)",
)
# What stands around the way in.
_ACCOUNT = any_of(
    r"already (?:have an account|a member|on \w+)\?|don.t have an account\?",
    r"forg(?:ot|otten) (?:your )?(?:password|account)|lost your password",
    r"continue with (?:google|apple)|sign up with|create (?:an )?account",
)


def find_login_signs(reading: PageEvidence) -> str | None:
    """Return what shows that a page only asks to log in; None if nothing does."""
    if not reading.is_html or reading.is_long or reading.words > _MAX_WORDS:
        return None
    has_form = _has_form(reading.outline.markup)
    return (
        _after_redirect(reading, has_form=has_form)
        or (_around_form(reading) if has_form else None)
        or _without_form(reading)
    )


def _has_form(markup: bytes) -> bool:
    """Whether there is a field for a password, in a form that shows."""
    field = _PASSWORD.search(markup)
    if field is None:
        return False
    before = markup[max(0, field.start() - _FORM_BYTES) : field.start()]
    form = before[max(0, before.lower().rfind(b"<form")) :]
    return not _HIDDEN.search(form.partition(b">")[0] + b">")


def _after_redirect(reading: PageEvidence, *, has_form: bool) -> str | None:
    if not reading.was_redirected_elsewhere or _is_login_address(
        reading.requested_host, reading.requested_path
    ):
        return None
    if not _is_login_address(reading.host, reading.path):
        return None
    if has_form or _name_of_login(reading) or _PLEA.search(reading.text):
        return f"the address leads to a login page ({reading.path[:100]})"
    return None


def _is_login_address(host: str, path: str) -> bool:
    return bool(_PATH.search(path.lower()) or _HOST.search(host))


def _around_form(reading: PageEvidence) -> str | None:
    if plea := _PLEA.search(reading.text):
        return f"the page says '{plea[0][:100]}' and has a form to log in"
    if reading.sentence_bytes > _MAX_OTHER_SENTENCE_BYTES:
        return None
    if name := _name_of_login(reading):
        return f"the page is called '{name}' and has a form to log in"
    if _MIN_WORDS_OF_FORM <= reading.words <= _MAX_WORDS_AROUND_BUTTONS:
        return f"the page has a form to log in and about {reading.words} words"
    return None


def _without_form(reading: PageEvidence) -> str | None:
    pleading = [sentence for sentence in reading.sentences if _PLEA.search(sentence)]
    plea = _PLEA.search(reading.text) or _PLEA.search(reading.title)
    other_bytes = reading.sentence_bytes - sum(len(sentence.encode()) for sentence in pleading)
    if plea and other_bytes <= _MAX_OTHER_SENTENCE_BYTES:
        return f"the page says '{plea[0][:100]}', and there are about {reading.words} words"
    offers = set(_ACCOUNT.findall(reading.text))
    is_bare = reading.sentence_bytes <= _MAX_OTHER_SENTENCE_BYTES
    if len(offers) > 1 and is_bare and reading.words <= _MAX_WORDS_AROUND_BUTTONS:
        return f"the page only offers accounts ('{min(offers)}')"
    return None


def _name_of_login(reading: PageEvidence) -> str | None:
    short = (name for name in reading.names if len(name.split()) <= _MAX_WORDS_OF_NAME)
    return next((name for name in short if _NAME.search(name)), None)
