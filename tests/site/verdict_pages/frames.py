"""What stands around the pages to be judged: heads and feet of sites, and paragraphs."""

STORY = (
    "The old quay wakes before the town does. By five the lamps are lit along the water, the "
    "ice machine rattles in its shed, and the first boats have turned the corner of the mole "
    "with their decks full of crates. Nobody speaks much; the work is known, and the cold sees "
    "to the rest.",
    "For forty years the same three families have shared the landing, and the rules between "
    "them are older than any paper. Who comes first takes the northern hoist, who comes last "
    "sweeps. It has been tried to write this down, and each time the writing ended up lighting "
    "a stove.",
    "Change arrived with the new bridge, which was opened in spring with a band and a long "
    "speech. Lorries now reach the market in the city within two hours, and the price is made "
    "there, on a screen, by people who have never been wet to the elbows before breakfast.",
    "The cooperative answered with a plan that looked mad to its bank. It bought the empty salt "
    "store, put in a kitchen and a smokehouse, and began to sell what the screen did not want: "
    "the small fish, the bony ones, those with names that city people cannot say without "
    "laughing.",
    "Within a year there was a queue on Saturdays. Two cooks from the school in the next valley "
    "moved into the rooms above, and the smokehouse had to be told apart from the church by "
    "strangers, who saw its plume first and asked the way to mass.",
    "Not all of it went well. In the second winter a pump failed and the cold room thawed, with "
    "a month's work inside. The insurer sent a man who measured the door and went away, and the "
    "money that came in the end paid for half of a new compressor and none of the fish.",
    "It was then that the harbour master opened the books to everybody. The figures hung on the "
    "wall of the net loft, in pencil, so that they could be corrected, and those who had never "
    "said a word in a meeting turned out to be able to count.",
    "They found that ice cost more than fuel, and that a third of it melted on the way from the "
    "machine to the boats. A roof over forty metres of quay, built from the timber of a wrecked "
    "barge, paid for itself before the summer was over.",
    "Visitors ask about the quiet. It is not a rule, says the oldest of the skippers, it is "
    "what is left when the engines are off. Her daughter has fitted the family's boat with a "
    "battery, which lasts as far as the second buoy and, with the tide behind it, all the way "
    "home.",
    "The school sends its pupils on Thursdays. They weigh, they label, they learn to look at "
    "gills, and some of them come back in June and ask for work. There are more of them than "
    "places, which has not been so since the cannery closed.",
    "What the city thinks of it can be read on the plates of its restaurants, where the fish "
    "with the laughable names now costs more than the cod. The cooperative raised its price by "
    "a tenth and put the difference into a fund for the roof of the chapel.",
    "In October the first of the new boats was launched, built on the slip where the "
    "grandfathers had built theirs. It carries no name yet. There is a list in the net loft, in "
    "pencil, and it is getting longer, and the harbour master has hung a rubber on a string "
    "beside it.",
)

_TEASERS = (
    ("Ferry timetable for the winter", "Fewer crossings from November, more on holidays."),
    ("The baker who rows to work", "Every morning at four, whatever the weather."),
    ("Storm takes two roofs", "Nobody was hurt in the night to Tuesday."),
    ("Choir looks for tenors", "Rehearsals on Wednesdays in the old school."),
    ("New lamps for the mole", "They burn all night and cost a third."),
    ("Letters to the editor", "On gulls, on bicycles, and on gulls again."),
    ("Council meets on Monday", "The agenda has eleven points and a surprise."),
    ("Oysters are back", "After six years the beds may be fished again."),
)

FRAMES = {
    "news-header": (
        '<header class="site-header"><a class="logo" href="/">The Coast Courier</a><nav><ul>'
        '<li><a href="/news">News</a></li><li><a href="/sea">Sea</a></li>'
        '<li><a href="/culture">Culture</a></li><li><a href="/sport">Sport</a></li>'
        '<li><a href="/opinion">Opinion</a></li></ul></nav>'
        '<a href="/login">Log in</a> <a class="button" href="/subscribe">Subscribe</a></header>'
    ),
    "news-footer": (
        '<aside><h2>Most read</h2><ul><li><a href="/a">Ferry timetable for the winter</a></li>'
        '<li><a href="/b">Storm takes two roofs</a></li></ul></aside>'
        '<footer><a href="/about">About us</a> <a href="/privacy">Privacy policy</a> '
        '<a href="/cookies">Cookie settings</a> <a href="/terms">Terms</a>'
        "<p>© 2025 The Coast Courier. All rights reserved.</p></footer>"
    ),
    "zeitung-kopf": (
        '<header><a href="/">Startseite</a><nav><a href="/politik">Politik</a>'
        '<a href="/wirtschaft">Wirtschaft</a><a href="/kultur">Kultur</a><a href="/sport">Sport</a>'
        '</nav><a href="/anmelden">Anmelden</a> <a href="/abo">Abo</a></header>'
    ),
    "zeitung-fuss": (
        '<footer><a href="/impressum">Impressum</a> <a href="/datenschutz">Datenschutz</a> '
        '<a href="/agb">AGB</a> <a href="/kontakt">Kontakt</a> '
        '<a href="/cookies">Cookie-Einstellungen</a></footer>'
    ),
    "journal-entete": (
        '<header><a href="/">Accueil</a><nav><a href="/politique">Politique</a>'
        '<a href="/economie">Économie</a><a href="/culture">Culture</a></nav>'
        '<a href="/connexion">Se connecter</a> <a href="/abo">S\'abonner</a></header>'
    ),
    "journal-pied": (
        '<footer><a href="/mentions">Mentions légales</a> <a href="/cgv">CGV</a> '
        '<a href="/confidentialite">Politique de confidentialité</a></footer>'
    ),
    "teasers": "".join(
        f'<article class="card"><h3><a href="/t/{number}">{title}</a></h3><p>{line}</p></article>'
        for number, (title, line) in enumerate(_TEASERS)
    ),
}
