"""The names of the months in the languages that pages write dates in."""
# ruff: noqa: RUF001 - letters of other alphabets are meant

# English, German, French, Spanish, Portuguese, Italian, Dutch, the Scandinavian languages, Polish,
# Czech, Russian, Ukrainian, Turkish, Greek, Finnish and Romanian, in the case that dates have, each
# with the short forms in use.
_NAMES = {
    1: "january jan januar jänner janvier janv enero ene janeiro gennaio gen januari stycznia sty "
    "ledna января янв січня ocak oca ιανουαρίου ιαν tammikuuta ianuarie ian",
    2: "february feb februar februari février févr fév febrero fevereiro fev febbraio febr lutego "
    "lut února февраля фев лютого şubat şub φεβρουαρίου φεβ helmikuuta februarie",
    3: "march mar märz mrz mars marzo março maart mrt marca března марта мар березня mart μαρτίου "
    "μαρ maaliskuuta martie",
    4: "april apr avril avr abril abr aprile kwietnia kwi dubna апреля апр квітня nisan nis "
    "απριλίου απρ huhtikuuta aprilie",
    5: "may mai mayo maio maggio mag mei maj maja května мая травня mayıs μαΐου μαϊ toukokuuta",
    6: "june jun juni juin junio junho giugno giu czerwca cze června июня июн червня haziran haz "
    "ιουνίου ιουν kesäkuuta iunie iun",
    7: "july jul juli juillet juil julio julho luglio lug lipca lip července июля июл липня temmuz "
    "tem ιουλίου ιουλ heinäkuuta iulie iul",
    8: "august aug août aoû agosto ago augustus augusti sierpnia sie srpna августа авг серпня "
    "ağustos ağu αυγούστου αυγ elokuuta",
    9: "september sep sept septembre septiembre setembro set settembre septembrie września wrz "
    "září сентября сен вересня eylül eyl σεπτεμβρίου σεπ syyskuuta",
    10: "october oct oktober okt octobre octubre outubro out ottobre ott października paź října "
    "октября окт жовтня ekim eki οκτωβρίου οκτ lokakuuta octombrie",
    11: "november nov novembre noviembre novembro listopada lis listopadu ноября ноя листопада "
    "kasım kas νοεμβρίου νοε marraskuuta noiembrie noi",
    12: "december dec dezember dez décembre déc diciembre dic dezembro dicembre desember des "
    "grudnia gru prosince декабря дек грудня aralık ara δεκεμβρίου δεκ joulukuuta decembrie",
}

MONTHS = {name: number for number, names in _NAMES.items() for name in names.split()}
"""The number of the month by its name in lower case."""
