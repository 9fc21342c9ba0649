"""Records of things that are sold or made: products, catalogues, devices, releases, courses."""

from random import Random

from tests.extraction.pages.facts import Fact, FactList, Record
from tests.extraction.pages.wording import (
    ADJECTIVES,
    COLOURS,
    COMPANIES,
    LICENSES,
    TOPICS,
    dates,
    day,
    money,
    person,
    price,
    thing,
)


def product(rng: Random) -> Record:
    name, code = thing(rng), rng.choice(("USD", "EUR", "GBP"))
    amount, stars, reviews = price(rng), round(rng.uniform(2.5, 5), 1), rng.randint(3, 900)
    is_there, sku = (
        rng.random() < 0.7,
        f"{rng.choice('KXT')}{rng.choice('QR')}-{rng.randint(1000, 9999)}",
    )
    brand, colour = rng.choice(COMPANIES[:4]), rng.choice(COLOURS)
    return Record(
        kind="product",
        schema_type="Product",
        heading=_named(name),
        facts=(
            Fact(
                name="brand",
                value=brand,
                labels=("Brand", "Manufacturer"),
                texts=(brand, brand),
                prop="brand.name",
                css=("product-brand", "brand-link"),
            ),
            Fact(
                name="price",
                value=amount,
                labels=("Price", "Our price"),
                texts=money(amount, code),
                prop="offers.price",
                machine=f"{amount:.2f}",
                css=("product-price", "price-now"),
            ),
            Fact(
                name="currency",
                value=code,
                labels=("Currency", "Currency"),
                texts=(code, code),
                prop="offers.priceCurrency",
                css=("currency", "price-currency"),
            ),
            Fact(
                name="sku",
                value=sku,
                labels=("SKU", "Item number"),
                texts=(sku, sku),
                prop="sku",
                css=("sku", "article-number"),
            ),
            Fact(
                name="rating",
                value=stars,
                labels=("Rating", "Customer rating"),
                texts=(f"{stars} out of 5", f"{stars}/5"),
                prop="aggregateRating.ratingValue",
                css=("rating-value", "stars"),
            ),
            Fact(
                name="reviewCount",
                value=reviews,
                labels=("Number of reviews", "Reviews"),
                texts=(f"{reviews} reviews", str(reviews)),
                prop="aggregateRating.reviewCount",
                css=("review-count", "reviews-total"),
            ),
            Fact(
                name="inStock",
                value=is_there,
                labels=("Availability", "Stock"),
                texts=("In stock", "Available") if is_there else ("Out of stock", "Sold out"),
                prop="offers.availability",
                machine=f"https://schema.org/{'InStock' if is_there else 'OutOfStock'}",
                css=("availability", "stock-status"),
            ),
            Fact(
                name="color",
                value=colour,
                labels=("Color", "Colour"),
                texts=(colour, colour),
                prop="color",
                css=("color", "colour-name"),
            ),
        ),
        prose=(f"The {name} is made for daily use and comes in a plain box.",),
    )


def catalogue(rng: Random) -> Record:
    code = rng.choice(("USD", "EUR", "GBP"))
    return Record(
        kind="list",
        schema_type="CollectionPage",
        heading=Fact(
            name="",
            value="",
            labels=("Title", "Title"),
            prop="name",
            texts=("All our goods", "What is on the shelves"),
            css=("head", "head"),
        ),
        facts=(),
        lists=(
            FactList(
                name="products",
                labels=("Products", "Items"),
                prop="mainEntity.itemListElement",
                item_type="Product",
                records=tuple(_offer(rng, code) for _ in range(rng.randint(4, 9))),
            ),
        ),
    )


def _offer(rng: Random, code: str) -> tuple[Fact, ...]:
    name, amount, stars = thing(rng), price(rng), round(rng.uniform(2.5, 5), 1)
    is_there = rng.random() < 0.7
    return (
        Fact(
            name="name",
            value=name,
            labels=("Product", "Name"),
            texts=(name, name),
            prop="name",
            css=("card-title", "tile-name"),
        ),
        Fact(
            name="price",
            value=amount,
            labels=("Price", "Cost"),
            texts=money(amount, code),
            prop="offers.price",
            machine=amount,
            css=("card-price", "tile-amount"),
        ),
        Fact(
            name="rating",
            value=stars,
            labels=("Rating", "Stars"),
            texts=(f"{stars} out of 5", f"{stars}"),
            prop="aggregateRating.ratingValue",
            css=("card-rating", "tile-stars"),
        ),
        Fact(
            name="inStock",
            value=is_there,
            labels=("In stock", "Availability"),
            texts=("Yes", "In stock") if is_there else ("No", "Out of stock"),
            prop="offers.availability",
            machine=f"http://schema.org/{'InStock' if is_there else 'OutOfStock'}",
            css=("card-stock", "tile-availability"),
        ),
    )


def device(rng: Random) -> Record:
    model = f"{rng.choice('ABXZ')}{rng.randint(100, 999)} {rng.choice(ADJECTIVES)}"
    maker, weight, hours = (
        rng.choice(COMPANIES[:4]),
        round(rng.uniform(0.2, 9), 2),
        rng.randint(4, 60),
    )
    width, depth, height = (rng.randint(10, 90) for _ in range(3))
    inches, has_radio, years = round(rng.uniform(5, 32), 1), rng.random() < 0.6, rng.randint(1, 5)
    year = rng.randint(2012, 2026)
    size, term = f"{width} x {depth} x {height} cm", f"{years} years"
    return Record(
        kind="specification",
        schema_type="Product",
        heading=Fact(
            name="model",
            value=model,
            labels=("Model", "Model name"),
            texts=(model, model),
            prop="model",
            css=("model", "device-model"),
        ),
        facts=(
            Fact(
                name="manufacturer",
                value=maker,
                labels=("Manufacturer", "Made by"),
                texts=(maker, maker),
                prop="manufacturer.name",
                css=("manufacturer", "maker"),
            ),
            Fact(
                name="weight",
                value=weight,
                labels=("Weight", "Net weight"),
                texts=(f"{weight} kg", f"{weight}kg"),
                prop="weight",
                machine=f"{weight} kg",
                css=("weight", "spec-weight"),
            ),
            Fact(
                name="dimensions",
                value=size,
                labels=("Dimensions", "Measurements"),
                texts=(size, size),
                prop="size",
                css=("dimensions", "measurements"),
            ),
            Fact(
                name="batteryLife",
                value=hours,
                labels=("Battery life", "Battery runtime"),
                texts=(f"{hours} hours", f"up to {hours} h"),
                prop="batteryLife",
                machine=hours,
                css=("battery-life", "battery"),
            ),
            Fact(
                name="displaySize",
                value=inches,
                labels=("Display size", "Screen size"),
                texts=(f'{inches}"', f"{inches} inches"),
                prop="screenSize",
                machine=inches,
                css=("display-size", "screen"),
            ),
            Fact(
                name="wireless",
                value=has_radio,
                labels=("Wireless", "Wireless"),
                texts=("Yes", "✓") if has_radio else ("No", "✗"),
                prop="wireless",
                machine=None,
                css=("wireless", "radio"),
            ),
            Fact(
                name="warranty",
                value=term,
                labels=("Warranty", "Guarantee"),
                texts=(term, term),
                prop="warranty",
                css=("warranty", "guarantee"),
            ),
            Fact(
                name="releaseYear",
                value=year,
                labels=("Release year", "Year of release"),
                texts=(str(year), str(year)),
                prop="releaseYear",
                css=("release-year", "since"),
            ),
        ),
        prose=("All figures were measured in our own laboratory.",),
    )


def release(rng: Random) -> Record:
    name, when = f"{rng.choice(ADJECTIVES)}{rng.choice(('db', 'kit', 'flow', 'grid'))}", day(rng)
    version = f"{rng.randint(1, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}"
    size, license_ = round(rng.uniform(2, 300), 1), rng.choice(LICENSES)
    systems = tuple(rng.sample(("Linux", "macOS", "Windows", "FreeBSD"), rng.randint(2, 4)))
    return Record(
        kind="release",
        schema_type="SoftwareApplication",
        heading=_named(name),
        facts=(
            Fact(
                name="version",
                value=version,
                labels=("Version", "Current version"),
                texts=(version, version),
                prop="softwareVersion",
                css=("version", "release-version"),
            ),
            Fact(
                name="releaseDate",
                value=when.isoformat(),
                labels=("Release date", "Released on"),
                texts=dates(when),
                prop="releaseDate",
                css=("release-date", "released"),
            ),
            Fact(
                name="license",
                value=license_,
                labels=("License", "Licence"),
                texts=(license_, license_),
                prop="license",
                css=("license", "licence"),
            ),
            Fact(
                name="sizeMb",
                value=size,
                labels=("Size", "File size"),
                texts=(f"{size} MB", f"{size}MB"),
                prop="fileSize",
                machine=f"{size} MB",
                css=("size", "file-size"),
            ),
        ),
        lists=(
            FactList(
                name="platforms",
                labels=("Platforms", "Operating systems"),
                prop="operatingSystem",
                texts=systems,
            ),
            FactList(
                name="downloads",
                labels=("Downloads", "Files"),
                prop="hasPart",
                item_type="DataDownload",
                records=tuple(_download(rng, name, version, system) for system in systems),
            ),
        ),
    )


def _download(rng: Random, name: str, version: str, system: str) -> tuple[Fact, ...]:
    file, size = f"{name.lower()}-{version}-{system.lower()}.tar.gz", round(rng.uniform(2, 300), 1)
    return (
        Fact(
            name="file",
            value=file,
            labels=("File", "File name"),
            texts=(file, file),
            prop="name",
            css=("file", "filename"),
        ),
        Fact(
            name="platform",
            value=system,
            labels=("Platform", "System"),
            texts=(system, system),
            prop="operatingSystem",
            css=("platform", "os"),
        ),
        Fact(
            name="size",
            value=size,
            labels=("Size", "Size"),
            texts=(f"{size} MB", f"{size} MB"),
            prop="fileSize",
            machine=f"{size} MB",
            css=("size", "file-size"),
        ),
    )


def course(rng: Random) -> Record:
    topic, teacher, when = rng.choice(TOPICS), person(rng), day(rng)
    level, weeks, amount = (
        rng.choice(("beginner", "intermediate", "advanced")),
        rng.randint(2, 16),
        price(rng),
    )
    title = f"An introduction to {topic}"
    return Record(
        kind="course",
        schema_type="Course",
        heading=Fact(
            name="title",
            value=title,
            labels=("Title", "Course title"),
            texts=(title, title),
            prop="name",
            css=("title", "course-name"),
        ),
        facts=(
            Fact(
                name="instructor",
                value=teacher,
                labels=("Instructor", "Taught by"),
                texts=(teacher, teacher),
                prop="instructor.name",
                css=("instructor", "teacher"),
            ),
            Fact(
                name="level",
                value=level,
                labels=("Level", "Difficulty"),
                texts=(level.title(), level.title()),
                prop="educationalLevel",
                machine=level.title(),
                css=("level", "difficulty"),
            ),
            Fact(
                name="durationWeeks",
                value=weeks,
                labels=("Duration", "Length"),
                texts=(f"{weeks} weeks", f"{weeks} weeks"),
                prop="duration",
                machine=f"{weeks} weeks",
                css=("duration", "course-length"),
            ),
            Fact(
                name="startDate",
                value=when.isoformat(),
                labels=("Start date", "Starts"),
                texts=dates(when),
                prop="startDate",
                css=("start-date", "begins"),
            ),
            Fact(
                name="price",
                value=amount,
                labels=("Price", "Fee"),
                texts=money(amount, "EUR"),
                prop="offers.price",
                machine=amount,
                css=("price", "fee"),
            ),
        ),
        lists=(
            FactList(
                name="modules",
                labels=("Modules", "Syllabus"),
                prop="hasPart",
                item_type="Course",
                records=tuple(_module(rng, topic, n) for n in range(rng.randint(3, 6))),
            ),
        ),
    )


def _module(rng: Random, topic: str, number: int) -> tuple[Fact, ...]:
    names = ("First look at", "Tools for", "Reading about", "Practice in", "Limits of", "Future of")
    title, lessons = f"{names[number]} {topic}", rng.randint(2, 19)
    return (
        Fact(
            name="title",
            value=title,
            labels=("Module", "Title"),
            texts=(title, title),
            prop="name",
            css=("module-title", "unit-name"),
        ),
        Fact(
            name="lessons",
            value=lessons,
            labels=("Lessons", "Lessons"),
            texts=(f"{lessons} lessons", str(lessons)),
            prop="numberOfLessons",
            css=("lessons", "lesson-count"),
        ),
    )


def _named(name: str) -> Fact:
    return Fact(
        name="name",
        value=name,
        labels=("Name", "Name"),
        texts=(name, name),
        prop="name",
        css=("product-name", "item-name"),
    )
