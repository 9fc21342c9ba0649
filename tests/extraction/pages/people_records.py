"""Records of people and what they do: people, jobs, events, places, recipes, articles."""

from random import Random

from tests.extraction.pages.facts import Fact, FactList, Record
from tests.extraction.pages.wording import (
    ADJECTIVES,
    CITIES,
    COMPANIES,
    FILLER,
    LANGUAGES,
    STREETS,
    TAGS,
    TOPICS,
    dates,
    day,
    email,
    money,
    people,
    person,
    phone,
    price,
)

_ROLES = ("Data Engineer", "Gardener", "Head of Research", "Nurse", "Product Designer", "Archivist")


def _text(name: str, value: str, labels: tuple[str, str], prop: str, css: tuple[str, str]) -> Fact:
    return Fact(name=name, value=value, labels=labels, texts=(value, value), prop=prop, css=css)


def event(rng: Random) -> Record:
    name, when, amount = f"{rng.choice(ADJECTIVES)} Days {rng.randint(2, 40)}", day(rng), price(rng)
    speakers = people(rng, rng.randint(2, 5))
    topics = rng.sample(TOPICS, len(speakers))
    return Record(
        kind="event",
        schema_type="Event",
        heading=_text("name", name, ("Name", "Event"), "name", ("event-name", "gig-title")),
        facts=(
            Fact(
                name="startDate",
                value=when.isoformat(),
                labels=("Date", "When"),
                texts=dates(when),
                prop="startDate",
                css=("event-date", "start-date"),
            ),
            _text(
                "venue",
                f"{rng.choice(ADJECTIVES)} Hall",
                ("Venue", "Where"),
                "location.name",
                ("venue", "venue-name"),
            ),
            _text(
                "city",
                rng.choice(CITIES),
                ("City", "Town"),
                "location.address.addressLocality",
                ("city", "locality"),
            ),
            _text(
                "organizer",
                rng.choice(COMPANIES[:4]),
                ("Organizer", "Organised by"),
                "organizer.name",
                ("organizer", "host"),
            ),
            Fact(
                name="ticketPrice",
                value=amount,
                labels=("Ticket price", "Admission"),
                texts=money(amount, "GBP"),
                prop="offers.price",
                machine=amount,
                css=("ticket-price", "ticket"),
            ),
        ),
        lists=(
            FactList(
                name="speakers",
                labels=("Speakers", "Performers"),
                prop="performer",
                item_type="Person",
                records=tuple(
                    (
                        _text("name", who, ("Speaker", "Name"), "name", ("speaker-name", "who")),
                        _text(
                            "topic",
                            topic,
                            ("Topic", "Subject"),
                            "knowsAbout",
                            ("speaker-topic", "subject"),
                        ),
                    )
                    for who, topic in zip(speakers, topics, strict=True)
                ),
            ),
        ),
        prose=("Doors open an hour before the first talk.",),
    )


def profile(rng: Random) -> Record:
    name, born = person(rng), day(rng).replace(year=rng.randint(1991, 2004))
    return Record(
        kind="person",
        schema_type="Person",
        heading=_text(
            "full_name", name, ("Name", "Full name"), "name", ("person-name", "full-name")
        ),
        facts=(
            _text(
                "job_title",
                rng.choice(_ROLES),
                ("Job title", "Position"),
                "jobTitle",
                ("job-title", "role"),
            ),
            _text(
                "employer",
                rng.choice(COMPANIES[:4]),
                ("Employer", "Company"),
                "worksFor.name",
                ("employer", "company"),
            ),
            _text("email", email(name, rng), ("Email", "E-mail"), "email", ("email", "mail")),
            _text("phone", phone(rng), ("Phone", "Telephone"), "telephone", ("phone", "tel")),
            Fact(
                name="birth_date",
                value=born.isoformat(),
                labels=("Date of birth", "Born"),
                texts=dates(born),
                prop="birthDate",
                css=("birth-date", "born"),
            ),
        ),
        lists=(
            FactList(
                name="languages",
                labels=("Languages", "Speaks"),
                prop="knowsLanguage",
                texts=tuple(rng.sample(LANGUAGES, rng.randint(2, 4))),
            ),
        ),
        prose=(f"{name} likes long walks, and has written about them.",),
    )


def job(rng: Random) -> Record:
    posted, pay, is_remote = day(rng), rng.randint(28, 140) * 1000, rng.random() < 0.5
    closing = posted.replace(year=posted.year + 1)
    form = rng.choice(("FULL_TIME", "PART_TIME", "CONTRACT"))
    worded = {"FULL_TIME": "Full-time", "PART_TIME": "Part-time", "CONTRACT": "Contract"}[form]
    title = f"Senior {rng.choice(_ROLES)}"
    return Record(
        kind="job",
        schema_type="JobPosting",
        heading=_text(
            "title", title, ("Job title", "Position"), "title", ("job-title", "vacancy-title")
        ),
        facts=(
            _text(
                "company",
                rng.choice(COMPANIES),
                ("Company", "Employer"),
                "hiringOrganization.name",
                ("company", "employer-name"),
            ),
            _text(
                "location",
                rng.choice(CITIES),
                ("Location", "Place of work"),
                "jobLocation.address.addressLocality",
                ("location", "job-place"),
            ),
            Fact(
                name="employmentType",
                value=form,
                labels=("Employment type", "Contract type"),
                texts=(worded, worded),
                prop="employmentType",
                css=("employment-type", "contract-type"),
            ),
            Fact(
                name="salary",
                value=pay,
                labels=("Salary", "Annual pay"),
                texts=(f"${pay:,}", f"€{pay:,} per year"),
                prop="baseSalary.value.value",
                machine=pay,
                css=("salary", "pay"),
            ),
            Fact(
                name="remote",
                value=is_remote,
                labels=("Remote", "Remote work"),
                texts=("Yes", "Possible") if is_remote else ("No", "Not possible"),
                prop="remote",
                css=("remote", "remote-work"),
            ),
            Fact(
                name="datePosted",
                value=posted.isoformat(),
                labels=("Date posted", "Posted on"),
                texts=dates(posted),
                prop="datePosted",
                css=("date-posted", "posted"),
            ),
            Fact(
                name="applicationDeadline",
                value=closing.isoformat(),
                labels=("Application deadline", "Apply by"),
                texts=dates(closing),
                prop="validThrough",
                css=("deadline", "apply-by"),
            ),
        ),
        prose=("You will work in a small team that ships every week.",),
    )


def place(rng: Random) -> Record:
    name = f"{rng.choice(ADJECTIVES)} {rng.choice(('Bakery', 'Clinic', 'Books', 'Cycles'))}"
    hours = f"Mon-Fri {rng.randint(7, 10)}:00-{rng.randint(16, 20)}:00"
    stars, is_accessible = round(rng.uniform(2.5, 5), 1), rng.random() < 0.5
    return Record(
        kind="place",
        schema_type="LocalBusiness",
        heading=_text("name", name, ("Name", "Business name"), "name", ("place-name", "biz-name")),
        facts=(
            _text(
                "address.street",
                f"{rng.randint(1, 220)} {rng.choice(STREETS)}",
                ("Street", "Street address"),
                "address.streetAddress",
                ("street", "street-address"),
            ),
            _text(
                "address.city",
                rng.choice(CITIES),
                ("City", "Town"),
                "address.addressLocality",
                ("city", "locality"),
            ),
            _text(
                "address.postalCode",
                str(rng.randint(10000, 99999)),
                ("Postal code", "ZIP code"),
                "address.postalCode",
                ("postal-code", "zip"),
            ),
            _text("phone", phone(rng), ("Phone", "Call us"), "telephone", ("phone", "tel")),
            _text(
                "email",
                email(rng.choice(("hello", "office", "desk")), rng),
                ("Email", "Write to us"),
                "email",
                ("email", "mail"),
            ),
            _text(
                "openingHours",
                hours,
                ("Opening hours", "Hours"),
                "openingHours",
                ("opening-hours", "hours"),
            ),
            Fact(
                name="rating",
                value=stars,
                labels=("Rating", "Average rating"),
                texts=(f"{stars} out of 5", f"{stars} / 5"),
                prop="aggregateRating.ratingValue",
                machine=stars,
                css=("rating", "score"),
            ),
            Fact(
                name="wheelchairAccessible",
                value=is_accessible,
                labels=("Wheelchair accessible", "Wheelchair access"),
                texts=("Yes", "Yes") if is_accessible else ("No", "No"),
                prop="wheelchairAccessible",
                css=("wheelchair-accessible", "wheelchair"),
            ),
        ),
    )


def recipe(rng: Random) -> Record:
    name, author = (
        f"{rng.choice(ADJECTIVES)} {rng.choice(('Soup', 'Stew', 'Pie', 'Salad'))}",
        person(rng),
    )
    preparing, cooking = rng.randint(5, 50), rng.randint(5, 59)
    portions, energy = rng.randint(2, 8), rng.randint(120, 900)
    foods = rng.sample(
        ("flour", "leeks", "butter", "carrots", "lentils", "thyme", "salt", "cream"), 5
    )
    steps = (
        "Wash and chop everything.",
        "Warm the pan slowly.",
        "Stir until it smells good.",
        "Let it rest for a while.",
        "Serve with bread.",
    )
    return Record(
        kind="recipe",
        schema_type="Recipe",
        heading=_text("name", name, ("Name", "Dish"), "name", ("recipe-name", "dish")),
        facts=(
            _text("author", author, ("Author", "Recipe by"), "author.name", ("author", "cook")),
            Fact(
                name="prepMinutes",
                value=preparing,
                labels=("Prep time", "Preparation time"),
                texts=(f"{preparing} minutes", f"{preparing} min"),
                prop="prepTime",
                machine=f"PT{preparing}M",
                css=("prep-time", "preparation"),
            ),
            Fact(
                name="cookMinutes",
                value=cooking,
                labels=("Cook time", "Cooking time"),
                texts=(f"{cooking} minutes", f"{cooking} min"),
                prop="cookTime",
                machine=f"PT{cooking}M",
                css=("cook-time", "cooking"),
            ),
            Fact(
                name="servings",
                value=portions,
                labels=("Servings", "Serves"),
                texts=(str(portions), f"{portions} people"),
                prop="recipeYield",
                machine=f"{portions} servings",
                css=("servings", "yield"),
            ),
            Fact(
                name="calories",
                value=energy,
                labels=("Calories", "Energy"),
                texts=(f"{energy} kcal", f"{energy} calories"),
                prop="nutrition.calories",
                machine=f"{energy} calories",
                css=("calories", "kcal"),
            ),
        ),
        lists=(
            FactList(
                name="ingredients",
                labels=("Ingredients", "You will need"),
                prop="recipeIngredient",
                texts=tuple(f"{rng.randint(1, 9) * 50} g {food}" for food in foods),
            ),
            FactList(
                name="instructions",
                labels=("Instructions", "Method"),
                prop="recipeInstructions",
                texts=tuple(rng.sample(steps, 4)),
                is_ordered=True,
            ),
        ),
    )


def article(rng: Random) -> Record:
    headline, author, when = (
        f"What {rng.choice(TOPICS)} taught us in {rng.randint(2, 40)} days",
        person(rng),
        day(rng),
    )
    minutes, section = rng.randint(2, 30), rng.choice(("Science", "Culture", "Business", "Opinion"))
    return Record(
        kind="article",
        schema_type="NewsArticle",
        heading=_text(
            "headline", headline, ("Headline", "Title"), "headline", ("headline", "story-title")
        ),
        facts=(
            _text("author", author, ("Author", "Written by"), "author.name", ("author", "byline")),
            Fact(
                name="datePublished",
                value=when.isoformat(),
                labels=("Published", "Publication date"),
                texts=dates(when),
                prop="datePublished",
                css=("published", "pub-date"),
            ),
            _text(
                "section",
                section,
                ("Section", "Category"),
                "articleSection",
                ("section", "category"),
            ),
            Fact(
                name="readingMinutes",
                value=minutes,
                labels=("Reading time", "Time to read"),
                texts=(f"{minutes} min", f"{minutes} minutes"),
                prop="timeRequired",
                machine=f"PT{minutes}M",
                css=("reading-time", "read-time"),
            ),
        ),
        lists=(
            FactList(
                name="tags",
                labels=("Tags", "Keywords"),
                prop="keywords",
                texts=tuple(rng.sample(TAGS, rng.randint(2, 4))),
            ),
        ),
        prose=FILLER,
    )
