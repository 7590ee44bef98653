"""The parts of H-GCN+'s page, and the four-row overview of all results."""

from collections.abc import Iterable

from hiergcn.paper.blocks import Section, Table, Text, words
from hiergcn.paper.collect import CellResult, Evidence
from hiergcn.paper.experiments import DATASET_TITLES, arm_title
from hiergcn.paper.plus_experiments import RIVALS
from hiergcn.paper.sections import section_of
from hiergcn.paper.significance import Compared, compare_cells, points, probability
from hiergcn.paper.tables import Cells, accuracy_table, accuracy_text, dataset_columns, spread

MODELS = ("hgcn-plus", *RIVALS)


def overview_table(evidence: Evidence) -> Table:
    """Return H-GCN, H-GCN+, GCN and GRAND on the public splits."""
    table2, public = evidence.cells["table2"], evidence.cells["plus-public"]
    rows = {"H-GCN (paper)": (table2, "hgcn"), "H-GCN+": (public, "hgcn-plus")}
    rows |= {"GCN": (public, "gcn"), "GRAND": (public, "grand")}
    figures = [
        words(title, *(spread(cells[arm, name, ""].accuracy) for name in evidence.scale.datasets))
        for title, (cells, arm) in rows.items()
    ]
    return Table(dataset_columns("test accuracy in %", evidence.scale.datasets), tuple(figures))


def plus_sections(evidence: Evidence) -> list[Section]:
    return [_public(evidence), _few(evidence), _random(evidence), _variants(evidence)]


def _public(evidence: Evidence) -> Section:
    cells, datasets = evidence.cells["plus-public"], evidence.scale.datasets
    validation = [
        words(
            arm_title(arm),
            *(points(cells[arm, name, ""].summary("validation_accuracy").mean, False) for name in datasets),
        )
        for arm in MODELS
    ]
    blocks = [
        accuracy_table(cells, (*MODELS, "hgcn-plus-4", "grand-4"), datasets),
        Table(dataset_columns("method", datasets), tuple(validation), "Mean validation accuracy in per cent."),
        _differences(evidence),
    ]
    return section_of(evidence, "plus-public", blocks)


def _differences(evidence: Evidence) -> Table:
    cells = evidence.cells["plus-public"]
    rows = []
    for dataset in evidence.scale.datasets:
        for one in _against_rivals(cells, dataset, ""):
            if one.found.mean is not None:
                interval = f"{points(one.found.low)} to {points(one.found.high)}"
                figures = (points(one.found.mean), interval, probability(one.found.p), str(one.found.units))
                rows.append(words(DATASET_TITLES[dataset], one.name, *figures))
    columns = ("dataset", "H-GCN+ minus", "difference", "95 % interval", "p", "seeds")
    return Table(columns, tuple(rows), "Differences, seed by seed on the public split.")


def _few(evidence: Evidence) -> Section:
    experiment = evidence.experiments["plus-few-labels"]
    places = [
        (dataset, column.name, f"{DATASET_TITLES[dataset]}, {column.name}")
        for dataset in experiment.datasets
        for column in experiment.columns
    ]
    table = _with_differences(evidence, "plus-few-labels", "labels per class", places)
    return section_of(evidence, "plus-few-labels", [table])


def _random(evidence: Evidence) -> Section:
    places = [(dataset, "", DATASET_TITLES[dataset]) for dataset in evidence.scale.citation]
    table = _with_differences(evidence, "plus-random-splits", "dataset", places)
    return section_of(evidence, "plus-random-splits", [table])


def _with_differences(evidence: Evidence, experiment: str, first: str, places: Iterable[tuple[str, str, str]]) -> Table:
    """Return a row for each (dataset, column, title): the models' accuracies, and H-GCN+ minus each rival."""
    cells = evidence.cells[experiment]
    usual = max(cell.splits for cell in cells.values())
    rows = []
    for dataset, column, title in places:
        accuracies = [_over_splits(cells[arm, dataset, column], usual) for arm in MODELS]
        rows.append((Text(title), *accuracies, *words(*map(_difference, _against_rivals(cells, dataset, column)))))
    minus = (f"minus {arm_title(arm)}" for arm in RIVALS)
    return Table((first, *map(arm_title, MODELS), *minus), tuple(rows))


def _over_splits(cell: CellResult, usual: int) -> Text:
    """Format the mean ± standard deviation of the splits' means; say how many splits if not as many as usual."""
    if cell.spread_of_draws is None:
        return accuracy_text(cell)
    few = (f"{len(cell.by_split)} splits",) if len(cell.by_split) < usual else ()
    return Text(f"{points(cell.accuracy.mean, False)} ± {points(cell.spread_of_draws, False)}", few)


def _against_rivals(cells: Cells, dataset: str, column: str) -> list[Compared]:
    ours = cells["hgcn-plus", dataset, column]
    return compare_cells([(arm_title(arm), ours, cells[arm, dataset, column]) for arm in RIVALS])


def _difference(one: Compared) -> str:
    return "–" if one.found.mean is None else f"{points(one.found.mean)}, {probability(one.found.p)}"


def _variants(evidence: Evidence) -> Section:
    experiment = evidence.experiments["variants"]
    table = accuracy_table(evidence.cells["variants"], [arm.name for arm in experiment.arms], experiment.datasets)
    return section_of(evidence, "variants", [table])
