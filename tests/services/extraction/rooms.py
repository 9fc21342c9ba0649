"""A small site of rooms to let, whose layout a test can change, and its schema."""

from collections.abc import Mapping
from dataclasses import dataclass

from cinder.models.document import Json
from tests.search_servers.serving import Asked, Reply, SearchServer

SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "price": {"type": "number"},
        "keeper": {"type": "string", "description": "Who receives the guests"},
    },
}
PROMPT = "The room, what it costs, and who receives the guests"
PROSE = (
    "<p>Breakfast is served in the garden until ten, and the bells of the old church can be heard "
    "from every window of the house, which was built by a merchant two centuries ago.</p>"
)


@dataclass(frozen=True, slots=True)
class Room:
    """A room to let."""

    name: str
    price: str
    keeper: str

    @property
    def data(self) -> dict[str, Json]:
        return {"name": self.name, "price": float(self.price), "keeper": self.keeper}


ROOMS = (
    Room("The Blue Room", "120.00", "Ada Byron"),
    Room("The Attic", "64.50", "Grace Murray"),
    Room("The Orchard", "88.00", "Emmy Noether"),
    Room("The Stable", "45.00", "Lise Meitner"),
)


def first_layout(room: Room) -> str:
    return f"""<!doctype html><html><head><title>{room.name}</title></head><body><main>
<h1>{room.name}</h1>{PROSE}<p class="css-1a2b3c">Price: <b class="amount">${room.price}</b></p>
<p class="host-line">{room.keeper}</p></main></body></html>"""


def second_layout(room: Room) -> str:
    """Nothing is called as it was."""
    return f"""<!doctype html><html><head><title>{room.name}</title></head><body><main>
<div class="byline-person">{room.keeper}</div><h1>{room.name}</h1>
<table><tr><th>Price</th><td>${room.price}</td></tr></table>{PROSE}</main></body></html>"""


def misleading_layout(room: Room) -> str:
    """What was called the price is now what cleaning costs."""
    return first_layout(room).replace(
        f'Price: <b class="amount">${room.price}</b>',
        f'Price: ${room.price}</p><p>plus <b class="amount">$15.00</b> for cleaning',
    )


class RoomServer(SearchServer):
    """Serves the rooms, in the layout that it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.layout = first_layout

    def answer(self, asked: Asked) -> Reply:
        number = int(asked.path.rpartition("/")[2])
        return Reply(self.layout(ROOMS[number]).encode(), "text/html; charset=utf-8")

    def room(self, number: int) -> str:
        return f"{self.url}/rooms/{number}"
