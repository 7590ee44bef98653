"""Still pictures of nodes, for print and for browsers that run no script: many discs in a small space.

A disc is a line of length 0 with round ends, so that a node takes about ten letters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from hiergcn.reports.marks import number
from hiergcn.reports.palette import INK, PAPER
from hiergcn.reports.tree_layout import RADIUS, Positions, Tree

SIZE = 600
PICTURE_PANELS = 3
PICTURE_NODES = 3000
PICTURE_EDGES = 3000
MAP_POINTS = 6000
MAP_NAMES = 10
MAP_MARGIN = 10
NAME_LENGTH = 22
LETTER = 9.2
"""Mean width of a letter of a name, in the unit of the picture."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Still:
    """A picture of nodes and the words below it."""

    svg: Markup
    caption: str


def levels_pictures(tree: Tree, positions: Sequence[Positions], predicted: Ints, colours: Sequence[str]) -> list[Still]:
    """Draw some levels, coarse to fine; each disc has the colour of the most frequent class among its nodes."""
    small = [level for level in range(tree.depth, -1, -1) if len(tree.weight[level]) <= PICTURE_NODES] or [tree.depth]
    levels = [small[round(at)] for at in np.linspace(0, len(small) - 1, min(PICTURE_PANELS, len(small)))]
    pictures = []
    for level in levels:
        upper = tree.adjacency[level].tocoo()
        keep = np.flatnonzero(upper.row < upper.col)
        keep = keep[np.argsort(-upper.data[keep], kind="stable")[:PICTURE_EDGES]]
        width = 2 * RADIUS * np.sqrt(tree.weight[level])
        hyper_node = np.arange(len(predicted))
        for finer in range(level):
            hyper_node = tree.parent[finer][hyper_node].astype(np.int64)
        pairs = np.bincount(hyper_node * len(colours) + predicted, minlength=len(width) * len(colours))
        most = pairs.reshape(len(width), len(colours)).argmax(axis=1)  # the most frequent class in each
        place, scale = scaled(positions[level].conj(), width.max() / 2)  # up is up, as in the explorer
        ends = np.stack([place[upper.row[keep]], place[upper.col[keep]]], axis=1)
        drawn = [edge_path(ends), disc_paths(place, np.rint(width * scale).astype(int).clip(2), most, colours)]
        words = f"Level {level}: {len(width):,} {'hyper-nodes' if level else 'nodes'}"
        pictures.append(Still(_picture(drawn, words, place, scale * width.max() / 2), words))
    return pictures


def class_map(
    components: npt.NDArray[np.float64], predicted: Ints, names: Sequence[str], colours: Sequence[str]
) -> Markup:
    """Draw each node at two coordinates, coloured by predicted class, with the name of each class at its median."""
    step = -(-len(components) // MAP_POINTS)
    places = components[::step] @ np.array([1, -1j])
    predicted = predicted[::step]
    place, _ = scaled(places, 0.0)
    drawn = [f'<g opacity="0.75">{disc_paths(place, np.full(len(place), 7), predicted, colours)}</g>']
    counts = np.bincount(predicted, minlength=len(names))
    spots: list[tuple[complex, float]] = []  # with half the width of the name
    for which in np.argsort(-counts, kind="stable")[:MAP_NAMES]:
        if counts[which]:
            middle = place[predicted == which]
            spot = complex(np.median(middle.real), np.median(middle.imag))
            half = LETTER * len(short(names[which])) / 2
            edge = half + MAP_MARGIN
            spot = complex(min(max(spot.real, edge), SIZE - edge), spot.imag)  # whole in the picture
            while any(abs(spot.imag - o.imag) < 20 and abs(spot.real - o.real) < half + other for o, other in spots):
                spot += 20j
            spots.append((spot, half))
            halo = f'stroke="{PAPER}" stroke-width="5" paint-order="stroke" stroke-linejoin="round"'
            words = escape(short(names[which]))
            at = (
                f'x="{number(spot.real)}" y="{number(spot.imag)}" text-anchor="middle" font-size="16" font-weight="600"'
            )
            drawn.append(f'<text {at} fill="{INK}" {halo}>{words}</text>')
    about = "Nodes by their class probabilities, coloured by predicted class."
    below = [spot for spot, _ in spots]  # names that were moved down
    return _picture(drawn, about, np.concatenate([place, below]), MAP_MARGIN)


def place_map(places: Positions, group: Ints, colours: Sequence[str], description: str) -> Still:
    """Draw each node where it is, in the colour of its group; of many nodes some. Few nodes far away are left out."""
    known = np.flatnonzero(np.isfinite(places))
    inside = known[_near(places[known].real) & _near(places[known].imag)]
    shown = inside[:: -(-len(inside) // MAP_POINTS)]
    place, _ = scaled(places[shown], 0.0)
    width = int(np.clip(round(0.8 * SIZE / np.sqrt(len(shown))), 3, 16))
    drawn = disc_paths(place, np.full(len(place), width), group[shown], colours)
    left_out = len(known) - len(inside)
    words = f"{left_out:,} node{'s lie' if left_out != 1 else ' lies'} far outside the picture." if left_out else ""
    return Still(_picture([drawn], description, place, MAP_MARGIN), words)


def _near(values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which values are at most a tenth of the range of the middle 98 % away from it."""
    low, high = np.quantile(values, [0.01, 0.99])
    room = 0.1 * (high - low)
    near: npt.NDArray[np.bool_] = (values >= low - room) & (values <= high + room)
    return near


def short(name: str) -> str:
    """Shorten a name so that it fits into a picture."""
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def scaled(places: Positions, margin: float) -> tuple[Positions, float]:
    """Return places in a square of `SIZE`, with a margin given in the old unit, and the factor between the units."""
    low = complex(places.real.min() - margin, places.imag.min() - margin)
    wide = max(np.ptp(places.real), np.ptp(places.imag)) + 2 * margin or 1.0
    scale = (SIZE - 12) / wide
    free = complex(SIZE - scale * (np.ptp(places.real) + 2 * margin), SIZE - scale * (np.ptp(places.imag) + 2 * margin))
    moved: Positions = (places - low) * scale + free / 2
    return moved, float(scale)


def edge_path(ends: npt.NDArray[np.complex128], width: float = 0.7) -> str:
    """Return the edges between pairs of places as one path."""
    whole = np.rint(np.stack([ends.real, ends.imag], axis=2)).astype(int)
    path = "".join(f"M{a} {b}L{c} {d}" for (a, b), (c, d) in whole.tolist())
    return f'<path d="{path}" stroke="var(--edge)" stroke-width="{number(width)}" fill="none"/>'


def disc_paths(place: Positions, width: npt.NDArray[np.integer], group: Ints, colours: Sequence[str]) -> str:
    """Return a path for each colour and width."""
    paths: dict[tuple[str, int], list[str]] = {}
    whole = np.rint(np.stack([place.real, place.imag], axis=1)).astype(int).tolist()
    for (x, y), wide, which in zip(whole, width.tolist(), group.tolist(), strict=True):
        paths.setdefault((colours[which], wide), []).append(f"M{x} {y}h0")
    parts = (
        f'<path d="{"".join(path)}" stroke="{colour}" stroke-width="{wide}"/>' for (colour, wide), path in paths.items()
    )
    return f'<g stroke-linecap="round">{"".join(parts)}</g>'


def _picture(drawn: Sequence[str], description: str, place: Positions, margin: float) -> Markup:
    """Return the picture, as high as what is at the places and a margin."""
    top, height = round(place.imag.min() - margin), round(float(np.ptp(place.imag)) + 2 * margin)
    label = f'role="img" aria-label="{escape(description)}"'
    return Markup(f'<svg class="still-picture" viewBox="0 {top} {SIZE} {height}" {label}>{"".join(drawn)}</svg>')  # noqa: S704
