"""What addresses carry that tells who came and from where, but not what is there."""

import re

# Names that only mean tracking, whatever the site. `ref`, `source` and the like are not here: they
# may choose what a page shows.
_TRACKING_LISTED = (
    "gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid fbclid msclkid yclid "
    "ysclid twclid ttclid li_fat_id igshid igsh epik srsltid irclickid irgwc rb_clickid "
    "wickedid _openstat mc_cid mc_eid mkt_tok _ga _gl _hsenc _hsmi __hstc __hssc __hsfp "
    "hsctatracking _kx vero_id vero_conv oly_anon_id oly_enc_id ml_subscriber "
    "ml_subscriber_hash _branch_match_id _branch_referrer fb_action_ids fb_action_types "
    "fb_source cx_recs_click"
)
_TRACKING = frozenset(_TRACKING_LISTED.split())
_NOISE_PREFIXES = ("utm_", "mtm_", "matomo_", "pk_", "piwik_", "hsa_", "aspsessionid")
_SESSION_LISTED = "phpsessid jsessionid oscsid zenid cfid cftoken xtcsid"
_SESSION = frozenset(_SESSION_LISTED.split())
# Names that may also mean something else; the value tells.
_MAYBE_SESSION_LISTED = "sid s sess session sessionid session_id session-id sessid"
_MAYBE_SESSION = frozenset(_MAYBE_SESSION_LISTED.split())
_TOKEN = re.compile(r"[0-9a-fA-F]{16,}|(?=[A-Za-z_-]*[0-9])[0-9A-Za-z_-]{24,}")

_PATH_PARAMETER = re.compile(r";(?:jsessionid|phpsessid|sessionid|sid)=[^/;]*", re.IGNORECASE)
_PATH_SEGMENT = re.compile(r"/\((?:[A-Z]\([0-9A-Za-z_-]{10,64}\))+\)(?=/)")


def is_noise(parameter: str) -> bool:
    """Whether a query's parameter tracks a visitor or names a session."""
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in _TRACKING or name in _SESSION or name.startswith(_NOISE_PREFIXES):
        return True
    return name in _MAYBE_SESSION and _TOKEN.fullmatch(value) is not None


def without_session(path: str) -> str:
    """Return a path without the session id that servers write into it."""
    return _PATH_SEGMENT.sub("", _PATH_PARAMETER.sub("", path))
