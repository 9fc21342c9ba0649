"""Blocks of the same make: the paragraphs of a story, the dates of posts, the names in a list."""

from cinder.extract.main_content.blocks import BlockTree

_LEVELS = 5
_MIN_BLOCKS = 3

_Make = tuple[str | None, ...]


def group_alike(tree: BlockTree) -> list[list[int]]:
    """Return the numbers of all blocks, those of the same make together.

    Of the same make are blocks whose owners, and the elements around these, have the same tags and
    classes; where there are fewer than three, each is a group of its own.
    """
    makes = _read_makes(tree)
    found: dict[_Make, list[int]] = {}
    for number, block in enumerate(tree.blocks):
        found.setdefault(makes[block.owner], []).append(number)
    groups: list[list[int]] = []
    for numbers in found.values():
        groups += [numbers] if len(numbers) >= _MIN_BLOCKS else [[number] for number in numbers]
    return groups


def _read_makes(tree: BlockTree) -> list[_Make]:
    makes: list[_Make] = []
    for element in tree.elements:
        above = makes[element.parent] if element.parent >= 0 else ()
        makes.append((element.tag, element.class_name, *above[: 2 * (_LEVELS - 1)]))
    return makes
