"""Phrases as patterns over lower-case text, and those that bot walls use in many languages.

Each pattern is of one thing that walls say. They are searched in the text of short pages alone.
"""

import re
from collections.abc import Iterator, Sequence

_REACH_CHARS = 120
_MAX_PLACES = 60


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern for whichever of these comes first; they see lower-case text."""
    return re.compile("|".join(patterns))


class Phrases:
    """Phrases of which each holds one of a few stems, and which are looked for only near these.

    A long alternation takes a microsecond a character; a plain string is found in no time.
    """

    def __init__(self, stems: Sequence[str], *patterns: str) -> None:
        self._stems = tuple(stems)
        self._pattern = any_of(*patterns)

    def find_last(self, text: str) -> re.Match[str] | None:
        """Return the last phrase in a text in lower case, as far as there are stems in it."""
        last: re.Match[str] | None = None
        for start, end in self._places(text):
            for found in self._pattern.finditer(text, start, end):
                if last is None or found.end() > last.end():
                    last = found
        return last

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        places = 0
        for stem in self._stems:
            at = text.find(stem)
            while at >= 0 and places < _MAX_PLACES:
                yield max(0, at - _REACH_CHARS), at + len(stem) + _REACH_CHARS
                places += 1
                at = text.find(stem, at + _REACH_CHARS)


# That the visitor should be a person.
_HUMAN = (
    r"\b(?:not|n.t|never) (?:a |an )?(?:ro)?bots?\b",
    r"you(?:.re| are| were)? (?:really )?(?:a |an )?(?:human|robot|bot|real person)\b",
    r"\bare you (?:a |an )?(?:human|robot|bot)\b",
    r"robot or human|human or (?:ro)?bot|human verification|not a robot",
    r"(?:think|thought|believe|suspect)\w* (?:that )?you (?:are|were|might be|may be) "
    r"(?:a )?(?:ro)?bot",
    r"and not a (?:ro)?bot|press (?:and|&) hold to",
    r"complete the (?:security check|captcha|check|challenge)",
    r"solve (?:this|the) (?:captcha|puzzle)",
    r"(?:type|enter) the (?:characters|letters|code) (?:you see|shown|in)",
    r"kein(?:e|en)? (?:ro)?bot(?:er)?\b|(?:sie|du) ein mensch (?:sind|bist)",
    r"pas un (?:ro)?bot\b|\bbien humain\b|\bêtes (?:un )?humain\b",
    r"\bno (?:eres|es|soy|sea) un (?:ro)?bot\b|\b(?:eres|es) humano\b",
    r"não (?:é|és|sou|seja) um (?:robô|robot|bot)\b|\b(?:é|és) humano\b",
    r"non (?:sei|sono|è) un (?:ro)?bot|geen (?:ro)?bot\b",
    r"nie (?:jesteś|jestem|jest) (?:ro)?botem|nejs(?:te|em|i) robot",
    r"не робот|не бот\b|не являетесь роботом",
    r"(?:inte|ikke) (?:är |er )?(?:en )?robot|nem (?:vagy|vagyok|ön) robot",
    r"robot (?:olmad.ğ.n.z.|değil)|bukan robot|không phải (?:là )?(?:robot|người máy)",
    r"ロボットでは(?:ない|ありません)|(?:不是|非)(?:机器人|機器人)",
    r"人机(?:验证|识别)|로봇이 아[닙니]",
    r"لست (?:روبوت|برنامج)",
)
# That its behaviour is that of a machine.
_UNUSUAL = (
    r"(?:unusual|suspicious|abnormal|unusually high|malicious|unauthori[sz]ed) (?:\w+ )?"
    r"(?:traffic|activit(?:y|ies)|requests?|behaviou?r|number of requests)",
    r"automated (?:\w+ )?(?:access|requests?|traffic|queries|visitors)",
    r"(?:device|network|browser|computer|ip(?: address)?) (?:are|is) automated",
    r"looks? (?:suspicious|like an attack|automated)",
    r"(?:ungewöhnlich|verdächtig|auffällig)\w* (?:\w+ )?"
    r"(?:aktivität|datenverkehr|zugriff|anfrage|traffic|verhalten)",
    r"(?:activité|trafic|comportement|requête)s? (?:\w+ )?"
    r"(?:inhabituel|suspect|anormal|automatique)",
    r"(?:tráfico|actividad|comportamiento) (?:\w+ )?(?:inusual|sospechos|anormal|automatizad)",
    r"(?:tráfego|atividade|acesso) (?:\w+ )?(?:incomum|suspeit|anormal|automatizad)",
    r"(?:traffico|attività) (?:insolit|sospett|anomal)|(?:ongebruikelijk|verdacht)e? "
    r"(?:verkeer|activiteit)",
    r"(?:nietypow|podejrzan)\w+ (?:ruch|aktywno)|(?:neobvykl|podezřel)\w+ (?:provoz|aktivit)",
    r"(?:подозрительн|необычн)\w+ (?:\w+ )?(?:активност|трафик|запрос)|похожи на автоматические",
    r"olağan ?d.ş. (?:trafik|etkinlik)|ovanlig (?:trafik|aktivitet)",
    r"(?:不審|異常|不正)な(?:アクセス|トラフィック|通信|操作)|"
    r"(?:异常|異常)(?:访问|流量|请求|訪問)|(?:访问|操作)(?:异常|过于频繁|频繁)",
    r"(?:비정상|의심스러운|이상)(?:적인)? ?(?:접근|트래픽|접속|활동)",
)
# That it was stopped, in words that no page of its own uses.
_STOPPED = (
    r"access to this page has been denied|security check to access|you have been blocked",
    r"your (?:request|ip(?: address)?) has been (?:blocked|banned|flagged)",
    r"blocked by network security",
    r"checking your browser before|checking if the site connection is secure",
    r"please enable js and disable any ad blocker",
)
# That it is kept out.
_REFUSED = (
    r"you have been (?:\w+ )?(?:blocked|banned|denied|rate limited)",
    r"(?:has|have) been (?:(?:automatically|temporarily|permanently|currently) )?"
    r"(?:blocked|banned|flagged|rate limited|paused|restricted|limited)",
    r"(?:are|is) being rate limited|banned you (?:temporarily )?from",
    r"access (?:to this \w+ |to this web ?site )?(?:is |has been )?(?:temporarily )?"
    r"(?:denied|blocked|restricted|forbidden|limited)",
    r"(?:request|page|site)(?: (?:was|is|has been))? (?:blocked|rejected)\b",
    r"not allowed to (?:proceed|access)|unable to (?:visit|access) (?:this|the) (?:web)?site",
    r"(?:zugriff|zugang)(?: (?:ist|wurde))? (?:verweigert|gesperrt|blockiert|eingeschränkt)",
    r"accès (?:temporairement |\w+ )?(?:refusé|bloqué|restreint|interdit)",
    r"acceso (?:\w+ )?(?:denegado|bloqueado|restringido|prohibido)",
    r"acesso (?:\w+ )?(?:negado|bloqueado|restrito|proibido)|toegang (?:geweigerd|geblokkeerd)",
    r"accesso (?:\w+ )?(?:negato|bloccato|limitato|vietato)",
    r"dostęp (?:\w+ )?(?:zabroniony|zablokowany|ograniczony)|odmowa dostępu",
    r"доступ (?:[\w ]{0,40})?(?:запрещ|заблок|огранич)|заблокирован",
    r"přístup (?:odepřen|zamítnut|zablokován)|erişim (?:engellendi|reddedildi)",
    r"アクセス(?:が|は|を)?(?:\w{0,4})(?:制限|拒否|ブロック|禁止)",
    r"(?:접근|접속)이? ?(?:제한|차단|거부)",
    r"(?:访问|訪問|存取)(?:已?被)?(?:拒绝|拒絕|受限|禁止|阻断|拦截)|(?:禁止|拒绝)访问",
)
# That it is being looked at first.
_CHECKING = (
    r"(?:checking|verifying|validating|analy[sz]ing) (?:that |if |whether )?(?:you|your|the|this) "
    r"(?:\w+ ){0,3}(?:browser|connection|request|human|bot|security|device|secure)\b",
    r"(?:browser|request|connection|session|visit) is being (?:checked|verified|validated)",
    r"(?:checking|verifying) your browser|(?:establishing|ensuring) a secure connection",
    r"(?:browser|verbindung) wird (?:\w+ )?(?:überprüft|geprüft)",
    r"vérif\w+ (?:de )?votre navigateur",
    r"(?:verificando|comprobando) (?:tu|su) navegador|verificando (?:o )?seu navegador",
    r"провер\w+ (?:\w+ )?браузер|sprawdzamy (?:\w+ )?przeglądark",
    r"ブラウザ(?:を|の)?(?:確認|チェック)",
)
# What such a look is called, at airports and in handbooks too.
_NAME_OF_CHECK = (
    r"secure connection|browser check|(?:check|verify) your browser|sicherheits(?:über)?prüfung",
    r"vérif\w+ (?:de )?(?:de )?sécurité|contrôle de sécurité|verifica (?:del browser|di sicurezza)",
    r"(?:verificación|control) de seguridad|verificação de segurança|проверка безопасности",
    r"weryfikacj\w+ (?:bezpieczeństwa|przeglądarki)|güvenlik (?:kontrolü|doğrulamas.)",
    r"セキュリティ(?:チェック|確認)|認証が必要",
    r"(?:安全|访问|訪問|滑动|身份)(?:验证|驗證|检查)|자동 ?(?:입력|등록) ?방지|보안 ?(?:문자|확인)",
)
# What a firewall calls itself or the number that it gives out; said with a refusal.
_FIREWALL = (
    r"(?:attack|incident|support|block(?:ed)?|unusual activity) ?(?:reference )?"
    r"(?:id|number|reason)\b|\bcase number",
    r"mod_security|firewall|\bwaf\b|(?:anti|\bbot)[- ]?(?:bot|protection|management|detection)",
    r"security (?:check|service|solution|system|polic|rule|filter|reason|verification)|captcha",
    r"page blocked|network policy|automat(?:ed|ion) (?:\w+ )?(?:tools|software|means)",
)
# That it comes too often.
_TOO_OFTEN = (
    r"too many requests|rate limit(?:ed| exceeded| reached)|slow down|"
    r"zu viele anfragen|trop de requêtes|demasiadas (?:solicitudes|peticiones)|muitas solicitações|"
    r"troppe richieste|te veel verzoeken|zbyt wiele (?:żądań|zapytań)|слишком много запросов|"
    r"リクエストが多すぎ|请求过于频繁|요청이 너무 많",
)
# How a page with hardly a word to it is called when it is a gate.
_GATE = (
    r"captcha|(?:client|robot|bot|browser|js|human) (?:challenge|check|verification)",
    r"^(?:please )?verif(?:y|ication)(?: required| needed)?$|attention required",
    r"unauthori[sz]ed activity|are you (?:not )?a (?:ro)?bot",
)
_PERSON = r"(?:really )?(?:not )?(?:a |an )?(?:human(?: being)?|(?:ro)?bot|real person)\b"
# That the visitor, who is spoken to, should show to be a person.
_ASKED_OF_VISITOR = (
    r"\b(?:verify(?:ing)?|confirm(?:ing)?|prove|sure|ensure|show|know|check(?:ing)?)"
    rf"(?: us)?(?: that| if| whether)? you(?:.re| are) {_PERSON}",
    r"\b(?:verify|confirm|prove) (?:that )?(?:your humanity|you and not a (?:ro)?bot)",
    r"(?:think|thought|believe|suspect)\w* (?:that )?you (?:are|were|might be|may be) "
    r"(?:a )?(?:ro)?bot\b",
    r"complete the (?:security check|captcha|check|challenge)(?: below)? (?:in order )?"
    r"(?:to|before) (?:continu|access|view|proceed|visit|enter|reach)",
    r"(?:type|enter) the (?:characters|letters) you see|press (?:and|&) hold to (?:confirm|prove)",
    r"\b(?:dass|ob) (?:sie|du) (?:kein (?:ro)?bot(?:er)?|ein mensch) (?:sind|bist)\b",
    r"\bvous (?:n.)?êtes (?:pas un (?:ro)?bot|(?:bien )?(?:un )?(?:être )?humain)\b",
    r"\b(?:verifi|confirm|comprueb|comprob|demuestr|demostr)\w+ que (?:usted )?(?:no )?"
    r"(?:eres|es|soy) (?:un )?(?:(?:ser )?humano|(?:ro)?bot)\b",
    r"\b(?:verifi|confirm|prov|comprov)\w+ (?:de )?que (?:você )?(?:não )?(?:é|és|sou) "
    r"(?:um )?(?:(?:ser )?humano|robô|(?:ro)?bot)\b",
    r"\b(?:verific|conferm|dimostr)\w+ (?:di|che) (?:non )?(?:essere|sei|sia) (?:un )?"
    r"(?:(?:essere )?umano|(?:ro)?bot)\b",
    r"\bdat (?:je|u) (?:geen (?:ro)?bot|een mens) bent\b",
    r"(?:że|czy) nie jesteś (?:ro)?botem|že nejs(?:te|i) robot",
    r"что вы (?:не робот|не бот\b|не являетесь роботом|человек\b)",
    r"\batt? du (?:inte|ikke) (?:är|er) (?:en )?robot|robot olmad.ğ.n.z. (?:doğr|kan.t|onay)",
    r"ロボットではない(?:こと|の)を|(?:您|你)(?:不是|非)(?:机器人|機器人)|로봇이 아[님닌]",
)
# Whose behaviour it is: said beside what is unusual, it speaks of the one who asks for the page.
_OF_VISITOR = (
    r"\b(?:your|ihre[mnrs]?|deine[mnrs]?|votre|vos|tu|su|sua|seu|tua|vostr[ao]|uw|je|twoje\w*|"
    r"vaš\w*|vaší|ваше\w*|din|ditt|dit) (?:\w+ )?(?:network|browser|ip|device|computer|connection|"
    r"netzwerk|gerät|verbindung|anschluss|réseau|navigateur|appareil|connexion|red|navegador|"
    r"dispositivo|conexión|rede|conexão|rete|dispositivo|netwerk|apparaat|sieci|urządzenia|sítě|"
    r"сети|устройства|браузера|ip-адрес\w*|nätverk|nettverk|netværk)\b",
    r"(?:您|你)的|お使いの|お客様の|고객님의|귀하의",
)
# What a gate says to the visitor beside its name.
_BESIDE_NAME_OF_GATE = (
    r"\byou(?:.ve| have) (?:sent|made|been)\b|\bcheck your connection\b|\bad ?blockers?\b",
    r"\b(?:while|before) (?:we|you|your)\b|\bsecurity check\b|\bwe (?:are )?(?:checking|verifying)",
)


SAID_OF_MACHINES = any_of(*_HUMAN, *_UNUSUAL, *_STOPPED)
SAID_TO_A_VISITOR = any_of(*_ASKED_OF_VISITOR, *_STOPPED)
SAID_AT_A_CHECK = any_of(*_CHECKING, *_NAME_OF_CHECK)
SAID_AT_A_GATE = any_of(*_CHECKING, *_REFUSED)
SAID_WITH_A_REFUSAL = any_of(*_REFUSED, *_CHECKING, *_NAME_OF_CHECK, *_FIREWALL)
SAID_WITH_AN_ERROR = any_of(r"(?:request|page)(?: (?:was|is|has been))? (?:blocked|rejected)\b")
SAID_BESIDE_NAME_OF_GATE = any_of(*_BESIDE_NAME_OF_GATE, *_OF_VISITOR, *_CHECKING)
NAME_OF_A_GATE = any_of(*_GATE, *_TOO_OFTEN, *_NAME_OF_CHECK)
UNUSUAL = any_of(*_UNUSUAL)
OF_VISITOR = any_of(*_OF_VISITOR)
# Each is said on pages too; two of them on one short page are not.
HALF_SIGNS = (any_of(*_HUMAN), UNUSUAL, any_of(*_CHECKING, *_NAME_OF_CHECK))
