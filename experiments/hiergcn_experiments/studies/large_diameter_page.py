"""The page of graphs of large diameter: choices on validation, leads, verdicts, tables, figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from hiergcn.research import Axis, Entry, Figure, PairedDifference, Panel, axes, method_colour, method_title, palette
from hiergcn_experiments.display import DASH, DOTS, ROW, cell_table, curve
from hiergcn_experiments.experiment import Scope, Study, Variant
from hiergcn_experiments.page import Columns, Picture, Row, Section, Table, Text, Texts, mean, mean_and_std, points
from hiergcn_experiments.paper.claims import CLAIMS as PAPER_CLAIMS
from hiergcn_experiments.results import CellResult, Results
from hiergcn_experiments.store import Record, latest
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
Place = tuple[str, str]
"""A graph and a kind of split."""
Rows = Mapping[str, Callable[[str, str], str | None]]
"""The variant of each row on a graph and a kind of split, by the title of the row."""


class RangeResults:
    """All results of the study. Accuracies and leads are None without runs."""

    def __init__(self, records: Sequence[Record], quick: bool = False) -> None:
        self.records, self.quick = records, quick
        experiment, results = study.range_experiments(Scope(quick))[0], Results(records)
        self.datasets = experiment.datasets
        self.cells: dict[tuple[str, str, str], CellResult] = {}
        """By (variant, dataset, kind). The city has main ones twice, with fewer and more seeds: more count."""
        for cell in experiment.cells():
            result = results.cell(cell)
            if result.done > (self.cells[cell.key].done if cell.key in self.cells else 0):
                self.cells[cell.key] = result
        # The variants that the presets were chosen to be, by validation on random splits or apart from training nodes;
        # and the one with hop columns that the same rule chooses.
        self.long_range = self.winner(study.GAPS, RANDOM)
        self.elsewhere = self.winner(study.ELSEWHERE_FEATURES, study.APART)
        self.elsewhere_hops = self.winner(study.ELSEWHERE_HOPS, study.APART)

    def places(self, kinds: Iterable[str] = KINDS) -> dict[str, Place]:
        """Return every graph and kind of split by the title of its column."""
        every = ((dataset, kind) for kind in kinds for dataset in self.datasets)
        return {f"{dataset_title(dataset)}, {kind}": (dataset, kind) for dataset, kind in every}

    def cell(self, name: str | None, dataset: str, kind: str) -> CellResult | None:
        return self.cells.get((name or "", dataset, kind))

    def mean(self, name: str | None, dataset: str, kind: str, figure: str = "test_accuracy") -> float | None:
        found = self.cell(name, dataset, kind)
        return found.summary(figure).mean if found else None

    def winner(self, variants: Sequence[Variant], kind: str) -> str:
        """Return the variant of the highest mean validation accuracy, of those with runs on every graph to choose on.

        That is how a preset was chosen. Without such runs it is the first.
        """
        graphs = [name for name in self.datasets if name in study.CHOSEN_ON or self.quick]
        found = {
            one.name: [self.mean(one.name, name, kind, "validation_accuracy") for name in graphs] for one in variants
        }
        means = {name: mean(values) for name, values in found.items() if None not in values}  # type: ignore[arg-type]
        return max(means, key=lambda name: means[name], default=variants[0].name)

    def best(self, variants: Iterable[Variant], dataset: str, kind: str) -> str | None:
        """Return the variant of the highest mean test accuracy, known only afterwards."""
        known = {one.name: value for one in variants if (value := self.mean(one.name, dataset, kind)) is not None}
        return max(known, key=lambda name: known[name], default=None)

    def lead(self, name: str, over: str | None, dataset: str, kind: str) -> PairedDifference | None:
        """Return the difference of two variants, paired by split."""
        ours, theirs = self.cell(name, dataset, kind), self.cell(over, dataset, kind)
        return ours.minus(theirs) if ours and theirs else None

    def measured(self, name: str) -> list[Record]:
        """Return the latest results of a measurement."""
        return latest(one for one in self.records if one.key.get("name") == name and not one.result.get("failure"))

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
    more = [one for one in (*study.FLAT_VARIANTS, *study.WITH_HOPS) if one not in study.BY_DEPTH]
    by_depth = _accuracies(results, "network", _titled(study.BY_LEVELS, study.BY_DEPTH, more))
    ablations = {variant_title(one.name): one.name for one in study.ABLATIONS}
    leads = {
        title: [results.lead(name, BASE.name, *place) for place in results.places().values()]
        for title, name in ablations.items()
    }
    changes: list[Row] = [(title, *map(_lead_text, some)) for title, some in leads.items() if any(some)]
    gaps = _titled(study.GAPS, study.WITH_COLUMNS, (study.WITH_ALL,))
    away = _titled(study.ELSEWHERE, before="H-GCN, ") | _titled(study.FLAT_VARIANTS)
    away["H-GCN, 8 levels, as above"] = _everywhere(BASE.name)
    over_time = Picture("time", time_figure(results), "Test accuracy over seconds of one training.")
    found = [
        _overview(results),
        _targets(results),
        _claims(results),
        _TEXTS.section("depth", Picture("depth", depth_figure(results), "Test accuracy over layers."), by_depth),
        _TEXTS.section("ablations", Table.from_rows(("change", *results.places()), changes)) if changes else None,
        _TEXTS.section("gaps", _candidates(results, gaps, (RANDOM,))),
        _TEXTS.section("elsewhere", _candidates(results, away, (study.APART, BLOCKED))),
        _influence(results),
        _cost(results),
        _TEXTS.section("time", over_time) if over_time.figure.panels else None,
    ]
    return [one for one in found if one is not None]


STUDY = Study(
    study.NAME,
    "Graphs of large diameter",
    study.range_experiments,
    range_sections,
    (study.range_influence, study.range_cost, study.range_large),
    splits=tuple(f"{kind}-" for kind in study.DRAWN.values()),
)


# Accuracies


def _everywhere(name: str) -> Callable[[str, str], str]:
    return lambda *_: name


def _titled(*groups: Iterable[Variant], before: str = "") -> dict[str, Callable[[str, str], str | None]]:
    return {before + variant_title(one.name): _everywhere(one.name) for group in groups for one in group}


def _text(_: object, cell: CellResult | None, strong: bool = False) -> Text:
    if cell is None:
        return Text("–")
    below = () if cell.done == study.SPLITS * study.SEEDS else (f"{cell.done} runs",)
    return Text(mean_and_std(cell.accuracy), below, strong=strong)


def _accuracies(results: RangeResults, first: str, rows: Rows, best: Rows | None = None) -> Table:
    """Return a row for each variant that has runs; `best` are rows of several variants, which the cells name."""

    def text(row: Callable[[str, str], str | None], cell: CellResult | None, strong: bool) -> Text:
        shown = _text(row, cell, strong)
        named = cell is not None and row in (best or {}).values()
        return Text(shown.main, (variant_title(cell.cell.variant), *shown.below)) if cell and named else shown

    def cell(row: Callable[[str, str], str | None], place: Place) -> CellResult | None:
        return results.cell(row(*place), *place)

    return cell_table(first, rows, results.places(), cell, text, apart=best or ())


def _overview(results: RangeResults) -> Section | None:
    labels = _titled(study.LABELS_ALONE)
    flat, with_hops = partial(results.best, study.FLAT_VARIANTS), partial(results.best, study.WITH_HOPS)
    best: Rows = {"best flat network of up to 16 layers": flat, "best flat network with hop columns": with_hops}
    one, other = best
    rows: Rows = {
        **labels,
        one: flat,
        "MLP with nearness of labels": _everywhere(study.WITH_COLUMNS[0].name),
        "H-GCN, 8 levels": _everywhere(BASE.name),
        "H-GCN, `long-range` before hop columns": _everywhere(study.FORMER_GAPS[0].name),
        "H-GCN, `elsewhere`": _everywhere(results.elsewhere),
        other: with_hops,
        variant_title(study.WITH_ALL.name): _everywhere(study.WITH_ALL.name),
        "H-GCN, `long-range`": _everywhere(results.long_range),
        "H-GCN, the best like `elsewhere` with hop columns": _everywhere(results.elsewhere_hops),
    }
    table = _accuracies(results, "", rows, best)
    if not table.rows:
        return None
    drawn: Rows = {
        **labels,
        "best flat network": flat,
        "best flat with hop columns": with_hops,
        "H-GCN, 8 levels": _everywhere(BASE.name),
        "H-GCN, long-range": _everywhere(results.long_range),
        "H-GCN, elsewhere": _everywhere(results.elsewhere),
        "elsewhere, hop columns": _everywhere(results.elsewhere_hops),
    }
    about = "Test accuracy on random and on blocked splits: what levels gain between labels, they lose away from them."
    count: dict[str, Any] = {"networks": study.SPLITS * study.SEEDS, "seeds": study.SEEDS, "splits": study.SPLITS}
    return _TEXTS.section("overview", Picture("headline", headline_figure(results, drawn), about), table, **count)


def _targets(results: RangeResults) -> Section | None:
    rows: list[Row] = []
    for dataset in results.datasets:
        flat, with_hops = (
            {kind: results.best(variants, dataset, kind) for kind in KINDS}
            for variants in (study.FLAT_VARIANTS, study.WITH_HOPS)
        )
        ours, rival = (results.mean(name, dataset, RANDOM) for name in (results.long_range, flat[RANDOM]))
        if dataset not in TARGETS or ours is None or rival is None:
            continue
        least, beyond = TARGETS[dataset]
        runs = _text(None, results.cell(results.long_range, dataset, RANDOM)).below
        reached = "beyond" if ours >= beyond else "yes" if ours >= least else "no"
        leads = (
            results.lead(results.long_range, with_hops[RANDOM], dataset, RANDOM),
            results.lead(results.elsewhere, flat[BLOCKED], dataset, BLOCKED),
            results.lead(results.elsewhere_hops, flat[BLOCKED], dataset, BLOCKED),
            results.lead(results.elsewhere_hops, with_hops[BLOCKED], dataset, BLOCKED),
        )
        rows.append(
            (
                dataset_title(dataset),
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
    return _TEXTS.section("targets", Table.from_rows(columns, rows)) if rows else None


def sign(lead: PairedDifference) -> int:
    """Return 1 if the 95 % interval over the splits lies above 0, -1 if below, else 0."""
    return 0 if lead.low is None or lead.high is None else (lead.low > 0) - (lead.high < 0)


def _lead_text(lead: PairedDifference | None) -> Text:
    if lead is None or lead.mean is None:
        return Text("–")
    word = {1: "ahead", 0: "level", -1: "behind"}[sign(lead)]
    return Text(points(lead.mean), (f"{points(lead.low)} to {points(lead.high)}, {word}",))


def _candidates(results: RangeResults, rows: Rows, kinds: tuple[str, ...]) -> Table:
    """Return validation accuracy on the first kind, which chooses, and test accuracy on all kinds."""
    shown: list[Row] = []
    winners = (results.long_range, results.elsewhere, results.elsewhere_hops)
    for title, row in rows.items():
        name = row("", "") or ""
        known = (results.mean(name, dataset, kinds[0], "validation_accuracy") for dataset in results.datasets)
        chosen = [points(value, False) for value in known]
        if any(text != "–" for text in chosen):
            tested = (_text(row, results.cell(name, *place)) for place in results.places(kinds).values())
            shown.append((Text(title, strong=name in winners), *chosen, *tested))
    first = (f"{dataset_title(dataset)}, validation" for dataset in results.datasets)
    return Table.from_rows(("network", *first, *results.places(kinds)), shown)


# Verdicts on the paper's claims


def word_for(signs: Sequence[int]) -> str:
    """Return the verdict by the signs of the leads on the graphs."""
    better, worse = signs.count(1), signs.count(-1)
    if not signs or better == len(signs):
        return "holds" if signs else "not run"
    if not better:
        return "does not hold"
    return f"holds on {better} of {len(signs)}" + (f", worse on {worse}" if worse else "")


def _claims(results: RangeResults) -> Section:
    quotes = {one.name: one for one in PAPER_CLAIMS}
    rows: list[Row] = []

    def add(name: str, about: str, citation: str, *cells: Text) -> None:
        rows.append((Text(f"“{quotes[name].quote}”", (quotes[name].place, about)), citation, *cells))

    for claim in study.TEXTS["claim"]:
        cells = []
        for kind in KINDS:
            leads = {}
            for dataset in results.datasets:
                rival = claim.get("theirs") or results.best(study.FLAT_VARIANTS, dataset, kind)
                if lead := results.lead(claim.get("ours", BASE.name), rival, dataset, kind):
                    leads[dataset] = lead
            details = tuple(f"{dataset_title(dataset)} {points(lead.mean)}" for dataset, lead in leads.items())
            cells.append(Text(word_for([sign(lead) for lead in leads.values()]), details))
        add(claim["name"], claim["about"], claim["citation"], *cells)
    # "Coarsening enlarges the receptive field" is judged by the influence from beyond 16 hops.
    signs, texts = [], []
    flat_names = {one.name for one in study.FLAT_VARIANTS}
    shares: dict[str, dict[str, float]] = {}
    for (dataset, name), influence in results.influence.items():
        shares.setdefault(dataset, {})[name] = beyond(influence)[FAR]
    for dataset, share in shares.items():
        if BASE.name in share and len(share) > 1:
            flat = max(value for name, value in share.items() if name in flat_names)
            signs.append(int(share[BASE.name] > flat))
            texts.append(f"{dataset_title(dataset)}: {100 * share[BASE.name]:.2g} % against {100 * flat:.2g} %")
    seen = "influence from beyond 16 hops, against the farthest-seeing flat network"
    add("receptive-field", seen, "holds", Text(word_for(signs), tuple(texts)), Text("–"))
    # "As asymptotically efficient as GCN" is judged by how an epoch grows from the smaller to the larger graph.
    ratios = {dataset: one["epoch"][BASE.name] / one["epoch"]["gcn-2"] for dataset, one in results.cost.items()}
    times = tuple(f"{dataset_title(dataset)}: {ratio:.2f} times GCN's epoch" for dataset, ratio in ratios.items())
    efficient = Text("not run")
    if len(ratios) > 1:
        first, *_, last = ratios.values()
        efficient = Text("holds" if last <= ALIKE * first else "does not hold", times)
    add("epochs", "an epoch of 8 levels on a CPU, on a small and a large graph", "holds", efficient, Text("–"))
    found = []
    for title, place in results.places().items():
        known = [one for one in study.BY_LEVELS if results.cell(one.name, *place)]
        if len(known) > 2:
            found.append(f"{title}: {(results.best(known, *place) or '').removeprefix('hgcn-')}")
    notes = [f"Levels with the highest mean test accuracy: {'; '.join(found)}. The paper: four."] if found else []
    columns = ("the paper says", "citation networks and NELL", "here, random", "here, blocked")
    return _TEXTS.section("claims", Table.from_rows(columns, rows, wordy=True), notes=notes)


# Influence and cost


def beyond(influence: Sequence[float]) -> list[float]:
    """Return the share of the total influence that comes from farther than k hops, for each k."""
    total = sum(influence) or 1.0
    return [sum(influence[k + 1 :]) / total for k in range(len(influence))]


def _influence(results: RangeResults) -> Section | None:
    hops, rows = (0, 2, 4, 8, 16, 32), []
    for (dataset, name), influence in results.influence.items():
        far = [f"{100 * beyond(influence)[k]:.2g}" for k in hops]
        distance = sum(k * value for k, value in enumerate(influence)) / (sum(influence) or 1.0)
        rows.append((f"{dataset_title(dataset)}, {influence_title(name)}", *far, f"{distance:.1f}"))
    table = Table.from_rows(("network", *(f"beyond {k} hops, %" for k in hops), "mean hops"), rows)
    shown = Picture("influence", influence_figure(results), "Influence from beyond k hops.")
    return _TEXTS.section("influence", shown, table) if rows else None


def _cost(results: RangeResults) -> Section | None:
    tables = []
    columns = ("network", "CPU ms per epoch", "times GCN, 2 layers", "times GraphSAGE, 16 layers", "peak memory, MiB")
    for dataset, one in results.cost.items():
        flat, deep = one["epoch"]["gcn-2"], one["epoch"]["graphsage-16"]
        rows: list[Row] = []
        for name, seconds in one["epoch"].items():
            memory = "–" if one["bytes"][name] is None else f"{one['bytes'][name] / 2**20:.0f}"
            times = (f"{1000 * seconds:.1f}", f"{seconds / flat:.2f}", f"{seconds / deep:.2f}")
            rows.append((influence_title(name), *times, memory))
        tables.append(Table.from_rows(columns, rows, f"{dataset_title(dataset)}, on a CPU."))
    large: Columns[Record] = {
        "city": lambda one: f"{one.key['arguments']['nodes']:,} nodes, {one.result['edges']:,} edges",
        "generate, s": lambda one: f"{one.result['generate']:.1f}",
        "coarsen and prepare, s": lambda one: f"{one.result['prepare']:.1f}",
        "train, s": lambda one: f"{one.result['train']:.1f}",
        "epochs": lambda one: str(one.result["epochs"]),
        "test accuracy, %": lambda one: points(one.result["test_accuracy"], False),
        "GPU memory, GiB": lambda one: "–" if one.result["gpu"] is None else f"{one.result['gpu'] / 2**30:.1f}",
        "on": lambda one: str(one.made.get("processor" if one.made.get("device") == "cpu" else "gpu")),
    }
    if cities := results.measured(study.LARGE):
        caption = "H-GCN with 8 levels on a large generated city, one seed, random split."
        tables.append(Table.from_items(cities, large, caption))
    return _TEXTS.section("cost", *tables) if tables else None


# Figures


def headline_figure(results: RangeResults, rows: Rows) -> Figure:
    """Draw accuracy on random and on blocked splits, a panel per graph and a row per method."""
    panels = []
    colours = (palette.BLUE, palette.VERMILION)
    x = Axis(0, 100, (0.0, 20.0, 40.0, 60.0, 80.0), ("0", "20", "40", "60", "80"), "test accuracy, %")
    for dataset in results.datasets:
        panel = Panel(x, axes.rows(list(rows)), title=dataset_title(dataset), height=ROW * len(rows), grid="x")
        panel.rule(x=CHANCE, colour=palette.MUTED, dash=DOTS, tip="chance")
        for place, (title, row) in enumerate(rows.items()):
            means = [results.mean(row(dataset, kind), dataset, kind) for kind in KINDS]
            shown = [100 * mean for mean in means if mean is not None]
            if len(shown) == 2:
                panel.across(min(shown), max(shown), place, palette.LINE, 2.0)
            for value, colour, split in zip(means, colours, KINDS.values(), strict=True):
                if value is not None:
                    panel.dots([100 * value], [place], colour, size=5, tips=[f"{title}, {split}: {100 * value:.1f} %"])
        panels.append(panel)
    legend = [Entry(title, colour) for title, colour in zip(KINDS.values(), colours, strict=True)]
    return Figure(panels, [*legend, Entry("chance", palette.MUTED, "dashed")], columns=1)


def depth_figure(results: RangeResults) -> Figure:
    """Draw accuracy over layers: flat networks, and H-GCN whose L levels have 2 L + 1 layers."""
    panels = []
    ticks = (1, 5, 9, 13, 17, 21)
    x = Axis(0, 22, tuple(map(float, ticks)), tuple(map(str, ticks)), "layers")
    for dataset, kind in results.places().values():
        curves: dict[str, dict[int, float]] = {
            method: {
                layers: 100 * cell.accuracy.mean for layers, cell in cells.items() if cell.accuracy.mean is not None
            }
            for method, cells in _by_layers(results, dataset, kind).items()
        }
        known = {one.name: results.mean(one.name, dataset, kind) for one in study.LABELS_ALONE}
        labels = {name: 100 * value for name, value in known.items() if value is not None}
        if len(curves["hgcn"]) < CURVE:
            continue
        heights = [*(value for points in curves.values() for value in points.values()), *labels.values()]
        y = axes.span(heights, "test accuracy, %")
        panel = Panel(x, y, title=f"{dataset_title(dataset)}, {KINDS[kind]}", height=210)
        for name, value in labels.items():
            panel.rule(y=value, colour=LABEL_COLOURS[name], dash=DOTS, tip=f"{method_title(name)}: {value:.1f} %")
        for name, values in curves.items():
            title = method_title(name)
            curve(panel, values, method_colour(name), title, f"{title}, {{x}} layers: {{y:.1f}} %")
        panels.append(panel)
    legend = [Entry(method_title(name), method_colour(name), "line") for name in ("hgcn", *study.FLAT)]
    legend += [Entry(method_title(name), colour, "dashed") for name, colour in LABEL_COLOURS.items()]
    return Figure(panels, legend, columns=min(len(results.datasets), 3))


def _by_layers(results: RangeResults, dataset: str, kind: str) -> dict[str, dict[int, CellResult]]:
    """Return the cells of each method by layers."""
    names = {"hgcn": {2 * levels + 1: one.name for levels, one in zip(study.LEVELS, study.BY_LEVELS, strict=True)}}
    names |= {method: {layers: f"{method}-{layers}" for layers in study.DEPTHS} for method in study.FLAT}
    return {
        method: {layers: cell for layers, name in known.items() if (cell := results.cell(name, dataset, kind))}
        for method, known in names.items()
    }


def influence_figure(results: RangeResults) -> Figure:
    """Draw the share of the influence that comes from beyond k hops."""
    found = results.influence
    gcn, *flat = map(method_colour, study.FLAT)
    hues = (gcn, palette.VERMILION, *flat, palette.BLUE, palette.MUTED, palette.SKY)
    colours = dict(zip(dict.fromkeys(arm for _, arm in found), hues, strict=False))
    panels = []
    for dataset in [dataset for dataset, arm in found if arm == BASE.name]:
        curves = {
            arm: {k: value for k, value in enumerate(beyond(values)) if value > LEAST}
            for (where, arm), values in found.items()
            if where == dataset
        }
        every = [value for points in curves.values() for value in points.values()]
        x = axes.whole_numbers([0, study.FARTHEST], "hops k")
        y = axes.powers([*every, 1.0], "influence from beyond k hops")
        panel = Panel(x, y, title=dataset_title(dataset), height=240)
        for arm, values in curves.items():
            dash = "" if arm in (BASE.name, study.ELSEWHERE_FEATURES[0].name) else DASH
            panel.line(values, values.values(), colours[arm], influence_title(arm), dash)
        panels.append(panel)
    return Figure(panels, [Entry(influence_title(arm), colour, "line") for arm, colour in colours.items()], columns=2)


def influence_title(arm: str) -> str:
    """Return the name of a network beside those of other families."""
    title = variant_title(arm) + (", own weights" if arm in {one.name for one in study.ELSEWHERE} else "")
    return title if title.startswith(tuple(map(method_title, (*study.FLAT, "hgcn")))) else f"H-GCN, {title}"


def time_figure(results: RangeResults) -> Figure:
    """Draw accuracy on random splits over the seconds of one training, of the networks without columns of labels."""
    panels = []
    for dataset in results.datasets:
        found = {
            method: [(cell, cell.seconds or 0.0, 100 * (cell.accuracy.mean or 0.0)) for cell in known.values()]
            for method, known in _by_layers(results, dataset, RANDOM).items()
        }
        found = {method: [point for point in known if point[1]] for method, known in found.items()}
        every = [point for known in found.values() for point in known]
        if not every:
            continue
        x = axes.powers([seconds for _, seconds, _ in every], "seconds per network")
        y = axes.span([accuracy for _, _, accuracy in every], "test accuracy, %")
        panel = Panel(x, y, title=dataset_title(dataset), height=210)
        for method, known in found.items():
            for cell, seconds, accuracy in known:
                tip = f"{variant_title(cell.cell.variant)}: {accuracy:.1f} %, {seconds:.2g} s"
                panel.dots([seconds], [accuracy], method_colour(method), size=4.5, tips=[tip])
        panels.append(panel)
    return Figure(
        panels, [Entry(method_title(name), method_colour(name), "dot") for name in ("hgcn", *study.FLAT)], columns=3
    )
