"""What the paper says of Table 4, the ablation, and of the figures of levels and channels."""

from hiergcn.paper.names import TITLES
from hiergcn.paper.published import BEST_CHANNELS, BEST_LEVELS, TABLE4
from hiergcn.paper.significance import compare_cells
from hiergcn.paper.verdicts.evidence import Evidence
from hiergcn.paper.verdicts.verdict import NOT_RUN, Finding, Word, better_everywhere, points, unrun


def _ablation(evidence: Evidence, without: str) -> Finding:
    pairs = []
    for dataset in evidence.scale.datasets:
        printed = TABLE4["hgcn"][dataset].mean - TABLE4[without][dataset].mean
        pairs.append((TITLES[dataset], evidence.ablated("hgcn", dataset), evidence.ablated(without, dataset), printed))
    return better_everywhere(compare_cells(pairs))


def coarsening_helps(evidence: Evidence) -> Finding:
    return _ablation(evidence, "no-coarsening")


def embedding_helps(evidence: Evidence) -> Finding:
    return _ablation(evidence, "no-embedding")


def _best_at(evidence: Evidence, experiment: str, best: dict[str, int]) -> Finding:
    """Does not hold where another value is better by more than chance; holds where the mean is highest on all."""
    lines, words, missing = [], [], []
    for dataset in evidence.scale.datasets:
        cells = {int(column): cell for (_, name, column), cell in evidence.cells[experiment].items() if name == dataset}
        claimed = cells.get(best[dataset])
        known = {value: cell for value, cell in cells.items() if cell.done > 1}
        if claimed is None or best[dataset] not in known or len(known) < len(cells):
            missing.append(TITLES[dataset])
            continue
        highest = max(known, key=lambda value: known[value].accuracy.mean or 0.0)
        others = compare_cells(
            [(str(value), cell, claimed, None) for value, cell in known.items() if cell is not claimed]
        )
        beaten = [one for one in others if one.sign == 1]
        words.append(-1 if beaten else 1 if highest == best[dataset] else 0)
        lines.append(
            f"{TITLES[dataset]}: best at {highest} with {points(known[highest].accuracy.mean, False)}, "
            f"at {best[dataset]} {points(claimed.accuracy.mean, False)}"
            + (f", better by more than chance: {', '.join(one.name for one in beaten)}" if beaten else "")
        )
    if not words:
        return NOT_RUN
    word: Word = "does not hold" if -1 in words else "not decided" if missing or 0 in words else "holds"
    return Finding(word, f"{'; '.join(lines)}.{unrun(missing)}")


def best_levels(evidence: Evidence) -> Finding:
    return _best_at(evidence, "figure-levels", BEST_LEVELS)


def best_channels(evidence: Evidence) -> Finding:
    return _best_at(evidence, "figure-channels", dict.fromkeys(BEST_LEVELS, BEST_CHANNELS))


def _over_values(evidence: Evidence, experiment: str, better: dict[str, int], worse: int) -> Finding:
    pairs = []
    for dataset in evidence.scale.datasets:
        cells = {int(column): cell for (_, name, column), cell in evidence.cells[experiment].items() if name == dataset}
        if better[dataset] in cells and worse in cells:
            name = f"{TITLES[dataset]}, {better[dataset]} over {worse}"
            pairs.append((name, cells[better[dataset]], cells[worse], None))
    return better_everywhere(compare_cells(pairs))


def too_many_levels(evidence: Evidence) -> Finding:
    return _over_values(evidence, "figure-levels", BEST_LEVELS, max(evidence.scale.levels))


def more_channels(evidence: Evidence) -> Finding:
    return _over_values(
        evidence, "figure-channels", dict.fromkeys(BEST_LEVELS, BEST_CHANNELS), min(evidence.scale.channels)
    )


def too_many_channels(evidence: Evidence) -> Finding:
    return _over_values(
        evidence, "figure-channels", dict.fromkeys(BEST_LEVELS, BEST_CHANNELS), max(evidence.scale.channels)
    )
