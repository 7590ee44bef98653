"""The page of graphs of large diameter: choices on validation, leads, verdicts, tables, figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from hiergcn.research import (
    Axis,
    Entry,
    Figure,
    PairedDifference,
    Panel,
    axes,
    method_colour,
    method_title,
    paired_difference,
    palette,
)
from hiergcn_experiments.experiment import Scope, Study, Variant
from hiergcn_experiments.page import Row, Section, Table, Text, Texts, mean, mean_and_std, picture, points
from hiergcn_experiments.paper.charts import DASH, DOTS, ROW
from hiergcn_experiments.paper.claims import CLAIMS as PAPER_CLAIMS
from hiergcn_experiments.results import CellResult, Results
from hiergcn_experiments.store import Record
from hiergcn_experiments.studies import large_diameter as study
from hiergcn_experiments.studies.large_diameter import BASE, BLOCKED, RANDOM, dataset_title, variant_title

FAR = 16
"""Hops that the deepest flat networks see."""
ALIKE = 1.25
"""Growth of the ratio of two costs that still counts as none."""
_CITY = (0.56, 0.62)
TARGETS = {"helsinki": (0.42, 0.46), "pegase-eccentricity": (0.73, 0.78), study.CITY: _CITY, study.CLUSTERED: _CITY}
"""Accuracies on random splits that were set before the runs: the least, and beyond."""
MARGIN = 0.05
"""Lead over the best flat network that was set."""
KINDS = {RANDOM: "random split", BLOCKED: "blocked split"}
LABEL_COLOURS = {"label-propagation": palette.GREEN, "harmonic": palette.PINK}
CHANCE = 10.0
"""Per cent, of ten classes of equal size."""
CURVE = 3
"""Fewest numbers of levels that make a curve."""
LEAST = 1e-6
"""Smallest share of the influence that is drawn."""
_TEXTS = Texts(study.TEXTS)


class Lead(NamedTuple):
    """The lead of one variant over another on a graph and a kind of split."""

    dataset: str
    kind: str
    found: PairedDifference

    @property
    def sign(self) -> int:
        """1 if the 95 % interval over the splits lies above 0, -1 if below, else 0."""
        low, high = self.found.low, self.found.high
        return 0 if low is None or high is None else 1 if low > 0 else -1 if high < 0 else 0


@dataclass(frozen=True, eq=False)
class RangeResults:
    """All results of the study."""

    records: Sequence[Record]
    quick: bool = False

    @cached_property
    def _experiments(self) -> dict[str, Any]:
        return {one.name: one for one in study.range_experiments(Scope(self.quick))}

    @property
    def datasets(self) -> tuple[str, ...]:
        found: tuple[str, ...] = self._experiments[study.ACCURACY].datasets
        return found

    def places(self, kinds: Iterable[str] = KINDS) -> list[tuple[str, str]]:
        """Return every (dataset, kind), in the order of the tables' columns."""
        return [(dataset, kind) for kind in kinds for dataset in self.datasets]

    @cached_property
    def cells(self) -> dict[tuple[str, str, str], CellResult]:
        """Cells by (variant, dataset, kind). The city has main ones twice, with fewer and more seeds: more count."""
        results = Results(self.records)
        found: dict[tuple[str, str, str], CellResult] = {}
        for cell in self._experiments[study.ACCURACY].cells():
            one = results.cell(cell)
            if cell.key not in found or one.done > found[cell.key].done:
                found[cell.key] = one
        return found

    def cell(self, name: str | None, dataset: str, kind: str) -> CellResult | None:
        """Return a cell that has runs."""
        found = self.cells.get((name or "", dataset, kind))
        return found if found is not None and found.done else None

    def mean(self, name: str | None, dataset: str, kind: str) -> float | None:
        """Return the mean test accuracy."""
        found = self.cell(name, dataset, kind)
        return found.accuracy.mean if found else None

    def validation(self, name: str, dataset: str, kind: str) -> float | None:
        """Return the mean validation accuracy."""
        found = self.cell(name, dataset, kind)
        return found.summary("validation_accuracy").mean if found else None

    def winner(self, variants: Sequence[Variant], kind: str) -> str:
        """Return the variant of the highest mean validation accuracy, of those with runs on every graph to choose on.

        That is how a preset was chosen. Without such runs it is the first.
        """
        graphs = [name for name in self.datasets if name in study.CHOSEN_ON or self.quick]
        found = {one.name: [self.validation(one.name, name, kind) for name in graphs] for one in variants}
        means = {name: mean(values) for name, values in found.items() if None not in values}  # type: ignore[arg-type]
        return max(means, key=lambda name: means[name], default=variants[0].name)

    @cached_property
    def long_range(self) -> str:
        """The variant that the preset `long-range` was chosen to be, by validation on random splits."""
        return self.winner(study.GAPS, RANDOM)

    @cached_property
    def elsewhere(self) -> str:
        """The variant that the preset `elsewhere` was chosen to be, by validation nodes apart from training nodes."""
        return self.winner(study.ELSEWHERE_FEATURES, study.APART)

    @cached_property
    def elsewhere_hops(self) -> str:
        """The variant with hop columns that the same rule chooses."""
        return self.winner(study.ELSEWHERE_HOPS, study.APART)

    def best(self, variants: Iterable[Variant], dataset: str, kind: str) -> str | None:
        """Return the variant of the highest mean test accuracy, known only afterwards."""
        known = {one.name: value for one in variants if (value := self.mean(one.name, dataset, kind)) is not None}
        return max(known, key=lambda name: known[name], default=None)

    def best_flat(self, dataset: str, kind: str, hops: bool = False) -> str | None:
        """Return the best flat network, the strictest rival: of those with hop columns, or of those without."""
        return self.best(study.WITH_HOPS if hops else study.FLAT_VARIANTS, dataset, kind)

    def lead(self, name: str, over: str | None, dataset: str, kind: str) -> Lead | None:
        """Return the difference of two variants, paired by split; None if one has no runs."""
        ours, theirs = self.cell(name, dataset, kind), self.cell(over, dataset, kind)
        if not ours or not theirs:
            return None
        return Lead(dataset, kind, paired_difference(name, ours.split_means, over or "", theirs.split_means))

    def measured(self, name: str) -> list[Record]:
        """Return the latest results of a measurement."""
        ours = [one for one in self.records if one.key.get("name") == name and not one.result.get("failure")]
        return list({one.about: one for one in sorted(ours, key=lambda one: one.finished)}.values())

    @property
    def influence(self) -> dict[tuple[str, str], list[float]]:
        """Influence by hops of (dataset, variant)."""
        found = ((one.key["arguments"], one.result["influence"]) for one in self.measured(study.INFLUENCE))
        return {(about["dataset"], about["arm"]): influence for about, influence in found}

    @property
    def cost(self) -> dict[str, dict[str, Any]]:
        """Seconds of an epoch and bytes by dataset."""
        return {one.key["arguments"]["dataset"]: one.result for one in self.measured(study.COST)}


def range_sections(records: Sequence[Record], quick: bool = False) -> list[Section]:
    """Return the parts of the page."""
    results = RangeResults(records, quick)
    found = [_overview(results), _targets(results), _claims(results)]
    more = [one for one in (*study.FLAT_VARIANTS, *study.WITH_HOPS) if one not in study.BY_DEPTH]
    table = Table(_columns(results, "network"), tuple(_rows(results, _titled(study.BY_LEVELS, study.BY_DEPTH, more))))
    shown = picture("depth", depth_figure(results), "Test accuracy over layers.")
    found.append(_TEXTS.section("depth", shown, table))
    leads = {
        one.name: [results.lead(one.name, BASE.name, *place) for place in results.places()] for one in study.ABLATIONS
    }
    rows = [(Text(variant_title(name)), *map(_lead_text, some)) for name, some in leads.items() if any(some)]
    if rows:
        found.append(_TEXTS.section("ablations", Table(_columns(results, "change"), tuple(rows))))
    listed = _titled(study.GAPS, study.WITH_COLUMNS, (study.WITH_ALL,))
    found.append(_TEXTS.section("gaps", _candidates(results, listed, (RANDOM,))))
    listed = [*_titled(study.ELSEWHERE, before="H-GCN, "), *_titled(study.FLAT_VARIANTS)]
    listed += [("H-GCN, 8 levels, as above", BASE.name)]
    found.append(_TEXTS.section("elsewhere", _candidates(results, listed, (study.APART, BLOCKED))))
    found += [_influence(results), _cost(results)]
    if shown := picture("time", time_figure(results), "Test accuracy over seconds of one training."):
        found.append(_TEXTS.section("time", shown))
    return [one for one in found if one is not None]


STUDY = Study(
    study.NAME,
    "Graphs of large diameter",
    study.range_experiments,
    range_sections,
    (study.range_influence, study.range_cost, study.range_large),
    splits=tuple(f"{kind}-" for kind in study.DRAWN.values()),
)


def _accuracy(results: RangeResults, name: str | None, dataset: str, kind: str, strong: bool = False) -> Text:
    cell = results.cell(name, dataset, kind)
    if cell is None:
        return Text("–")
    below = () if cell.done == study.SPLITS * study.SEEDS else (f"{cell.done} runs",)
    return Text(mean_and_std(cell.accuracy), below, strong=strong)


def _rows(results: RangeResults, variants: Iterable[tuple[str, str]]) -> list[tuple[Text, ...]]:
    """Return a row for each (title, variant) that has runs; the best of each column is strong."""
    listed, places = list(variants), results.places()
    shown = {name: [results.mean(name, *place) for place in places] for _, name in listed}
    best = [max((value for value in column if value is not None), default=None) for column in zip(*shown.values())]  # noqa: B905
    rows = []
    for title, name in listed:
        values = shown[name]
        if any(value is not None for value in values):
            cells = zip(places, values, best, strict=True)
            texts = (_accuracy(results, name, *place, strong=value == highest) for place, value, highest in cells)
            rows.append((Text(title), *texts))
    return rows


def _columns(results: RangeResults, first: str, kinds: Iterable[str] = KINDS) -> tuple[str, ...]:
    return first, *(f"{dataset_title(dataset)}, {kind}" for dataset, kind in results.places(kinds))


def _titled(*groups: Iterable[Variant], before: str = "") -> list[tuple[str, str]]:
    return [(before + variant_title(one.name), one.name) for group in groups for one in group]


def _overview(results: RangeResults) -> Section | None:
    without = [
        *_titled(study.LABELS_ALONE),
        ("MLP with nearness of labels", study.WITH_COLUMNS[0].name),
        ("H-GCN, 8 levels", BASE.name),
        ("H-GCN, `long-range` before hop columns", study.FORMER_GAPS[0].name),
        ("H-GCN, `elsewhere`", results.elsewhere),
    ]
    with_columns = [
        (variant_title(study.WITH_ALL.name), study.WITH_ALL.name),
        ("H-GCN, `long-range`", results.long_range),
        ("H-GCN, the best like `elsewhere` with hop columns", results.elsewhere_hops),
    ]
    rows = _rows(results, [*without, *with_columns])
    if not rows:
        return None

    def best_row(title: str, hops: bool = False) -> tuple[Text, ...]:
        cells = [Text(title)]
        for place in results.places():
            name = results.best_flat(*place, hops)
            text = _accuracy(results, name, *place)
            cells.append(Text(text.main, (variant_title(name), *text.below) if name else ()))
        return tuple(cells)

    titles = {title for title, _ in with_columns}
    at = next((k for k, row in enumerate(rows) if row[0].main in titles), len(rows))
    best, with_hops = (
        best_row("best flat network of up to 16 layers"),
        best_row("best flat network with hop columns", hops=True),
    )
    table = Table(_columns(results, ""), (*rows[:2], best, *rows[2:at], with_hops, *rows[at:]))
    drawn = [(title, [name] * len(results.places())) for title, name in _titled(study.LABELS_ALONE)]
    for title, hops in (("best flat network", False), ("best flat with hop columns", True)):
        drawn.append((title, [results.best_flat(*place, hops) or "" for place in results.places()]))
    ours = {"H-GCN, 8 levels": BASE.name, "H-GCN, long-range": results.long_range}
    ours |= {"H-GCN, elsewhere": results.elsewhere, "elsewhere, hop columns": results.elsewhere_hops}
    drawn += [(title, [name] * len(results.places())) for title, name in ours.items()]
    about = "Test accuracy on random and on blocked splits: what levels gain between labels, they lose away from them."
    shown = picture("headline", headline_figure(results, drawn), about)
    count: dict[str, Any] = {"networks": study.SPLITS * study.SEEDS, "seeds": study.SEEDS, "splits": study.SPLITS}
    return _TEXTS.section("overview", shown, table, **count)


def _targets(results: RangeResults) -> Section | None:
    rows = []
    for dataset in results.datasets:
        ours, rival = (
            results.mean(name, dataset, RANDOM) for name in (results.long_range, results.best_flat(dataset, RANDOM))
        )
        if dataset not in TARGETS or ours is None or rival is None:
            continue
        least, beyond = TARGETS[dataset]
        runs = _accuracy(results, results.long_range, dataset, RANDOM).below
        reached = "beyond" if ours >= beyond else "yes" if ours >= least else "no"
        leads = [
            results.lead(name, results.best_flat(dataset, kind, hops), dataset, kind)
            for name, kind, hops in (
                (results.long_range, RANDOM, True),
                (results.elsewhere, BLOCKED, False),
                (results.elsewhere_hops, BLOCKED, False),
                (results.elsewhere_hops, BLOCKED, True),
            )
        ]
        rows.append(
            (
                Text(dataset_title(dataset)),
                Text(points(ours, False), (f"{100 * least:.0f}, beyond {100 * beyond:.0f}: {reached}", *runs)),
                Text(points(ours - rival), (f"at least 5: {'yes' if ours - rival >= MARGIN else 'no'}",)),
                *map(_lead_text, leads),
            )
        )
    columns = (
        *("graph", "`long-range`, random", "minus best flat, random", "minus best flat with hop columns, random"),
        "`elsewhere` minus best flat, blocked",
        *("with hop columns minus best flat, blocked", "with hop columns minus best flat with hop columns, blocked"),
    )
    return _TEXTS.section("targets", Table(columns, tuple(rows))) if rows else None


def _lead_text(lead: Lead | None) -> Text:
    if lead is None or lead.found.mean is None:
        return Text("–")
    word = {1: "ahead", 0: "level", -1: "behind"}[lead.sign]
    return Text(points(lead.found.mean), (f"{points(lead.found.low)} to {points(lead.found.high)}, {word}",))


# Verdicts on the paper's claims


def word_for(signs: Sequence[int]) -> str:
    """Return the verdict by the signs of the leads on the graphs."""
    if not signs:
        return "not run"
    if all(sign == 1 for sign in signs):
        return "holds"
    better, worse = signs.count(1), signs.count(-1)
    if not better:
        return "does not hold"
    return f"holds on {better} of {len(signs)}" + (f", worse on {worse}" if worse else "")


def _claims(results: RangeResults) -> Section:
    quotes = {one.judge: one for one in PAPER_CLAIMS}

    def row(judge: str, about: str, citation: str, *cells: Text) -> tuple[Text, ...]:
        said = quotes[judge]
        return Text(f"“{said.quote}”", (said.place, about)), Text(citation), *cells

    rows = []
    for claim in study.TEXTS["claim"]:
        cells = []
        for kind in KINDS:
            ours, rival = claim.get("ours", BASE.name), claim.get("theirs")
            every = (
                results.lead(ours, rival or results.best_flat(name, kind), name, kind) for name in results.datasets
            )
            leads = [lead for lead in every if lead]
            details = tuple(f"{dataset_title(lead.dataset)} {points(lead.found.mean)}" for lead in leads)
            cells.append(Text(word_for([lead.sign for lead in leads]), details))
        rows.append(row(claim["judge"], claim["about"], claim["citation"], *cells))
    # "Coarsening enlarges the receptive field" is judged by the influence from beyond 16 hops.
    seen = "influence from beyond 16 hops, against the farthest-seeing flat network"
    shares: dict[str, dict[str, float]] = {}
    for (dataset, name), influence in results.influence.items():
        shares.setdefault(dataset, {})[name] = sum(influence[FAR + 1 :]) / (sum(influence) or 1.0)
    signs, texts = [], []
    for dataset, share in shares.items():
        if BASE.name in share and len(share) > 1:
            flat = max(share[one.name] for one in study.FLAT_VARIANTS if one.name in share)
            signs.append(1 if share[BASE.name] > flat else 0)
            texts.append(f"{dataset_title(dataset)}: {100 * share[BASE.name]:.2g} % against {100 * flat:.2g} %")
    rows.append(row("receptive-field", seen, "holds", Text(word_for(signs), tuple(texts)), Text("–")))
    # "As asymptotically efficient as GCN" is judged by how an epoch grows from the smaller to the larger graph.
    epoch = "an epoch of 8 levels on a CPU, on a small and a large graph"
    ratios = {dataset: one["epoch"][BASE.name] / one["epoch"]["gcn-2"] for dataset, one in results.cost.items()}
    times = tuple(f"{dataset_title(dataset)}: {ratio:.2f} times GCN's epoch" for dataset, ratio in ratios.items())
    efficient = Text("not run")
    if len(ratios) > 1:
        first, *_, last = ratios.values()
        efficient = Text("holds" if last <= ALIKE * first else "does not hold", times)
    rows.append(row("epochs", epoch, "holds", efficient, Text("–")))
    columns = ("the paper says", "citation networks and NELL", "here, random", "here, blocked")
    found = []
    for dataset, kind in results.places():
        known = sum(results.mean(one.name, dataset, kind) is not None for one in study.BY_LEVELS)
        best = results.best(study.BY_LEVELS, dataset, kind)
        if best and known > 2:
            found.append(f"{dataset_title(dataset)}, {kind}: {best.removeprefix('hgcn-')}")
    levels = "; ".join(found)
    notes = [f"Levels with the highest mean test accuracy: {levels}. The paper: four."] if levels else []
    return _TEXTS.section("claims", Table(columns, tuple(rows), wordy=True), notes=notes)


# Further tables


def _candidates(results: RangeResults, variants: list[tuple[str, str]], kinds: tuple[str, ...]) -> Table:
    """Return validation accuracy on the first kind, which chooses, and test accuracy on all kinds."""
    rows: list[Row] = []
    for title, name in variants:
        chosen = [points(results.validation(name, dataset, kinds[0]), False) for dataset in results.datasets]
        if any(text != "–" for text in chosen):
            strong = name in (results.long_range, results.elsewhere, results.elsewhere_hops)
            tested = (_accuracy(results, name, *place) for place in results.places(kinds))
            rows.append((Text(title, strong=strong), *chosen, *tested))
    first = (f"{dataset_title(dataset)}, validation" for dataset in results.datasets)
    return Table.from_rows(("network", *first, *_columns(results, "", kinds)[1:]), rows)


def _influence(results: RangeResults) -> Section | None:
    hops, rows = (0, 2, 4, 8, 16, 32), []
    for (dataset, name), influence in results.influence.items():
        total = sum(influence) or 1.0
        far = [f"{100 * sum(influence[k + 1 :]) / total:.2g}" for k in hops]
        distance = sum(k * value for k, value in enumerate(influence)) / total
        rows.append((f"{dataset_title(dataset)}, {influence_title(name)}", *far, f"{distance:.1f}"))
    if not rows:
        return None
    table = Table.from_rows(("network", *(f"beyond {k} hops, %" for k in hops), "mean hops"), rows)
    shown = picture("influence", influence_figure(results), "Influence from beyond k hops.")
    return _TEXTS.section("influence", shown, table)


def _cost(results: RangeResults) -> Section | None:
    tables = []
    for dataset, one in results.cost.items():
        epochs, memory = one["epoch"], one["bytes"]
        rows = [
            (
                influence_title(name),
                f"{1000 * seconds:.1f}",
                *(f"{seconds / epochs[other]:.2f}" for other in ("gcn-2", "graphsage-16")),
                "–" if memory[name] is None else f"{memory[name] / 2**20:.0f}",
            )
            for name, seconds in epochs.items()
        ]
        columns = ("network", "CPU ms per epoch", "times GCN, 2 layers", "times GraphSAGE, 16 layers")
        caption = f"{dataset_title(dataset)}, on a CPU."
        tables.append(Table.from_rows((*columns, "peak memory, MiB"), rows, caption))
    rows = []
    for record in results.measured(study.LARGE):
        found, made = record.result, record.made
        gpu = "–" if found["gpu"] is None else f"{found['gpu'] / 2**30:.1f}"
        rows.append(
            (
                f"{record.key['arguments']['nodes']:,} nodes, {found['edges']:,} edges",
                *(f"{found[step]:.1f}" for step in ("generate", "prepare", "train")),
                *(str(found["epochs"]), points(found["test_accuracy"], False), gpu),
                str(made.get("processor" if made.get("device") == "cpu" else "gpu")),
            )
        )
    if rows:
        columns = ("city", "generate, s", "coarsen and prepare, s", "train, s")
        caption = "H-GCN with 8 levels on a large generated city, one seed, random split."
        last = ("epochs", "test accuracy, %", "GPU memory, GiB", "on")
        tables.append(Table.from_rows((*columns, *last), rows, caption))
    return _TEXTS.section("cost", *tables) if tables else None


# Figures


def headline_figure(results: RangeResults, rows: Sequence[tuple[str, Sequence[str]]]) -> Figure | None:
    """Draw accuracy on random and on blocked splits, a panel per graph and a row per method.

    Args:
        results: all results.
        rows: title of each, and its variant on each (dataset, kind), random first.
    """
    titles = [title for title, _ in rows]
    panels = []
    for at, dataset in enumerate(results.datasets):
        x = Axis(0, 100, (0.0, 20.0, 40.0, 60.0, 80.0), ("0", "20", "40", "60", "80"), "test accuracy, %")
        panel = Panel(x, axes.rows(titles), title=dataset_title(dataset), height=ROW * len(titles), grid="x")
        panel.rule(x=CHANCE, colour=palette.MUTED, dash=DOTS, tip="chance")
        for place, (title, names) in enumerate(rows):
            means = [results.mean(names[at + k * len(results.datasets)], dataset, kind) for k, kind in enumerate(KINDS)]
            shown = [100 * mean for mean in means if mean is not None]
            if len(shown) == 2:
                panel.across(min(shown), max(shown), place, palette.LINE, 2.0)
            for value, colour, split in zip(means, (palette.BLUE, palette.VERMILION), KINDS.values(), strict=True):
                if value is not None:
                    panel.dots([100 * value], [place], colour, size=5, tips=[f"{title}, {split}: {100 * value:.1f} %"])
        panels.append(panel)
    if not panels:
        return None
    legend = [
        Entry(title, colour) for title, colour in zip(KINDS.values(), (palette.BLUE, palette.VERMILION), strict=True)
    ]
    return Figure(panels, [*legend, Entry("chance", palette.MUTED, "dashed")], columns=1)


def depth_figure(results: RangeResults) -> Figure | None:
    """Draw accuracy over layers: flat networks, and H-GCN whose L levels have 2 L + 1 layers."""
    panels = []
    for kind, title in KINDS.items():
        for dataset in results.datasets:
            known = {
                name: {layers: results.mean(one, dataset, kind) for layers, one in names.items()}
                for name, names in _curves().items()
            }
            curves = {
                name: {layers: 100 * mean for layers, mean in means.items() if mean is not None}
                for name, means in known.items()
            }
            labels = {one.name: results.mean(one.name, dataset, kind) for one in study.LABELS_ALONE}
            heights = [value for curve in curves.values() for value in curve.values()]
            heights += [100 * value for value in labels.values() if value is not None]
            if len(curves["hgcn"]) < CURVE:
                continue
            x = Axis(0, 22, tuple(map(float, (1, 5, 9, 13, 17, 21))), ("1", "5", "9", "13", "17", "21"), "layers")
            y = axes.span(heights, "test accuracy, %")
            panel = Panel(x, y, title=f"{dataset_title(dataset)}, {title}", height=210)
            for name, value in labels.items():
                if value is not None:
                    tip = f"{method_title(name)}: {100 * value:.1f} %"
                    panel.rule(y=100 * value, colour=LABEL_COLOURS[name], dash=DOTS, tip=tip)
            for name, curve in curves.items():
                panel.line(list(curve), list(curve.values()), method_colour(name), method_title(name))
                tips = [f"{method_title(name)}, {layers} layers: {mean:.1f} %" for layers, mean in curve.items()]
                panel.dots(list(curve), list(curve.values()), method_colour(name), size=4, tips=tips)
            panels.append(panel)
    if not panels:
        return None
    legend = [Entry(method_title(name), method_colour(name), "line") for name in _curves()]
    legend += [Entry(method_title(name), colour, "dashed") for name, colour in LABEL_COLOURS.items()]
    return Figure(panels, legend, columns=min(len(results.datasets), 3))


def _curves() -> dict[str, dict[int, str]]:
    """Return the variants of each method by layers."""
    found = {"hgcn": {2 * levels + 1: one.name for levels, one in zip(study.LEVELS, study.BY_LEVELS, strict=True)}}
    names = iter(study.BY_DEPTH)
    return found | {method: {layers: next(names).name for layers in study.DEPTHS} for method in study.FLAT}


def influence_figure(results: RangeResults) -> Figure | None:
    """Draw the share of the influence that comes from beyond k hops."""
    found = results.influence
    datasets = [dataset for dataset, arm in found if arm == BASE.name]
    if not datasets:
        return None
    gcn, *flat = map(method_colour, study.FLAT)
    hues = (gcn, palette.VERMILION, *flat, palette.BLUE, palette.MUTED, palette.SKY)
    colours = dict(zip(dict.fromkeys(arm for _, arm in found), hues, strict=False))
    panels = []
    for dataset in datasets:
        curves = {  # share of the total influence that comes from farther than k hops, for each k
            arm: [sum(values[k + 1 :]) / (sum(values) or 1.0) for k in range(len(values))]
            for (where, arm), values in found.items()
            if where == dataset
        }
        every = [value for curve in curves.values() for value in curve if value > LEAST]
        panel = Panel(
            axes.whole_numbers([0, study.FARTHEST], "hops k"),
            axes.powers([*every, 1.0], "influence from beyond k hops"),
            title=dataset_title(dataset),
            height=240,
        )
        for arm, curve in curves.items():
            shown = [(k, value) for k, value in enumerate(curve) if value > LEAST]
            name, dash = influence_title(arm), "" if arm in (BASE.name, study.ELSEWHERE_FEATURES[0].name) else DASH
            panel.line([k for k, _ in shown], [value for _, value in shown], colours[arm], name, dash)
        panels.append(panel)
    return Figure(panels, [Entry(influence_title(arm), colour, "line") for arm, colour in colours.items()], columns=2)


def influence_title(arm: str) -> str:
    """Return the name of a network beside those of other families."""
    title = variant_title(arm) + (", own weights" if arm in {one.name for one in study.ELSEWHERE} else "")
    return title if title.startswith(tuple(map(method_title, (*study.FLAT, "hgcn")))) else f"H-GCN, {title}"


def time_figure(results: RangeResults) -> Figure | None:
    """Draw accuracy on random splits over the seconds of one training, of the networks without columns of labels."""
    arms = {name: list(names.values()) for name, names in _curves().items()}
    panels = []
    for dataset in results.datasets:
        cells = {name: [(arm, results.cell(arm, dataset, RANDOM)) for arm in names] for name, names in arms.items()}
        points = {
            name: [
                (cell.seconds, 100 * (cell.accuracy.mean or 0.0), arm) for arm, cell in some if cell and cell.seconds
            ]
            for name, some in cells.items()
        }
        every = [point for found in points.values() for point in found]
        if not every:
            continue
        x = axes.powers([seconds for seconds, _, _ in every], "seconds per network")
        y = axes.span([accuracy for _, accuracy, _ in every], "test accuracy, %")
        panel = Panel(x, y, title=dataset_title(dataset), height=210)
        for name, found in points.items():
            tips = [f"{variant_title(one)}: {accuracy:.1f} %, {seconds:.2g} s" for seconds, accuracy, one in found]
            seconds, heights, _ = zip(*found, strict=True) if found else ((), (), ())
            panel.dots(seconds, heights, method_colour(name), size=4.5, tips=tips)
        panels.append(panel)
    if not panels:
        return None
    return Figure(panels, [Entry(method_title(name), method_colour(name), "dot") for name in arms], columns=3)
