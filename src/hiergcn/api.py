"""The functions of `hiergcn`: fit, compare, coarsen, explain, suggest, report and load.

```python
result = hiergcn.fit("cora", "gcn")  # a dataset, or a Graph
result.predictions()  # a row for each node
result.save("run")
hiergcn.explain("run", node="35")
```
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split

if TYPE_CHECKING:  # each function imports what it needs
    import pandas as pd

    from hiergcn.coarsening import Hierarchy
    from hiergcn.comparison.compare import Comparison
    from hiergcn.datasets import Dataset
    from hiergcn.estimator import NodeClassifier, NodeRegressor
    from hiergcn.explanation.node import Explanation
    from hiergcn.run.run import Run
    from hiergcn.settings.fields import Strategy

    Data = Graph | Dataset | str
    AnyRun = Run | NodeClassifier | NodeRegressor | str | Path


def fit(
    data: "Data",
    model: str | None = None,
    *,
    preset: str | None = None,
    seeds: int | Sequence[int] = 5,
    split: Split | None = None,
    baselines: bool = False,
    advise: bool = False,
    device: str = "auto",
    workers: int | None = None,
    engine: str | None = None,
    time_limit: float | None = None,
    coverage: float | None = None,
    verbose: bool = False,
    **settings: Any,
) -> "Run":
    """Train models and return the run, as `hiergcn fit` does: predictions, scores of every seed, leaderboard, report.

    Args:
        data: a Graph, the name of a dataset, or the path of a graph in .npz or .graphml.
        model: name of a method, see `hiergcn models`; by default it is chosen for the graph, or H-GCN for a dataset.
        preset: name of a recipe, such as `paper`.
        seeds: a number N for seeds 0 to N-1, or the seeds themselves; the answer is their mean. The automatic choice
            trains as many of them as its time limit allows.
        split: by default that of the data, or one that is drawn from the labels.
        baselines: also train simpler methods on the same split.
        advise: also find doubtful labels and nodes to label next.
        device: `auto`, `cpu` or `cuda`.
        workers: processes that share seeds and candidates; by default one for each core, as in the shell.
        engine: `local`, `ray` or `ray://HOST:PORT`, see `workers.pool.open_engine`.
        time_limit: seconds for the automatic choice; by default 2 to 300, depending on the size of the graph.
        coverage: probability that a prediction set or interval contains the truth, such as 0.9.
        verbose: print a line for each step.
        settings: any setting of the method by its name, see `hiergcn settings MODEL`.
    """
    from hiergcn.run.fit import BASELINES
    from hiergcn.run.fit import fit as run_fit
    from hiergcn.workers.machine import workers_for
    from hiergcn.workers.pool import open_engine

    graph, named, dataset = _read(data)
    on_event = None
    if verbose:
        from hiergcn.estimator import EventPrinter  # scikit-learn

        on_event = EventPrinter()
    with open_engine(engine) as where:
        return run_fit(
            graph,
            split or named,
            seeds=range(seeds) if isinstance(seeds, int) else seeds,
            model=model,
            preset=preset,
            dataset=dataset,
            changes=settings,
            baselines=BASELINES[graph.target.kind] if baselines else (),
            device=device,
            workers=workers or workers_for(graph.n_nodes),
            engine=where,
            time_limit=time_limit,
            coverage=coverage,
            advise=advise,
            on_event=on_event,
        )


def compare(
    data: "Data",
    models: Sequence[str] = ("gcn", "hgcn-plus"),
    *,
    seeds: int | Sequence[int] = 6,
    splits: str = "public",
    split: Split | None = None,
    against: str | None = None,
    device: str = "auto",
    engine: str | None = None,
    **settings: Any,
) -> "Comparison":
    """Compare methods over the same splits and seeds, with a paired test; `to_frame()` gives the table.

    Args:
        data, device, engine: as for `fit`.
        models: names of methods, or NAME:PRESET.
        seeds: a number N for seeds 0 to N-1, or the seeds themselves; with fewer than 6 no p falls below 0.05.
        splits: `public`, the split of the data; or N of a kind, `random:N`, `tenths:N` or `blocked:N`.
        split: used instead of that of the data.
        against: the method that the others are compared with; by default the first.
        settings: settings of every method.
    """
    from hiergcn.comparison.compare import compare as run_compare
    from hiergcn.comparison.splits import parse_splits
    from hiergcn.settings.settings import parse_methods
    from hiergcn.workers.pool import open_engine

    graph, named, dataset = _read(data)
    with open_engine(engine) as where:
        return run_compare(
            graph,
            split or named,
            parse_methods(",".join(models), dataset, settings),
            range(seeds) if isinstance(seeds, int) else seeds,
            dataset=dataset,
            changes=settings,
            splits=parse_splits(splits),
            against=against,
            device=device,
            engine=where,
        )


def coarsen(graph: Any, levels: int = 4, strategy: "str | Strategy" = "hgcn", **config: Any) -> "Hierarchy":
    """Coarsen a graph into a hierarchy of hyper-nodes.

    Args:
        graph: a Graph, a symmetric scipy sparse matrix, or the name of a dataset.
        levels: coarser levels to make; fewer if the graph cannot be coarsened further.
        strategy: `hgcn`, the paper's, another name (`hiergcn.coarsening.strategy_names()`), or a function.
        config: other settings of `CoarsenConfig`.
    """
    from hiergcn.coarsening.multilevel import coarsen as make_hierarchy
    from hiergcn.settings.fields import CoarsenConfig

    source = _read(graph)[0] if isinstance(graph, str) else graph
    return make_hierarchy(source, levels, CoarsenConfig(strategy=strategy, **config))


def explain(run: "AnyRun", node: str, class_: str | None = None, top: int = 10) -> "Explanation":
    """Explain a prediction: which nodes, features and hyper-nodes led to it.

    Args:
        run: a run folder, a result of `fit`, or a fitted estimator.
        node: id of the node.
        class_: the class to explain; by default the predicted one.
        top: nodes and features to list.
    """
    return _estimator(run).explain(node, class_, top)


def suggest(data: "Graph | AnyRun", budget: int = 20, *, seed: int = 0) -> "pd.DataFrame":
    """Return nodes to label next, by `id`, with a `reason` and an empty `label`.

    Args:
        data: a Graph, labelled or not; or a run, where uncertain predictions come first.
        budget: number of nodes.
        seed: for the random draws.
    """
    from hiergcn.advise.suggest import suggest as suggest_nodes

    if isinstance(data, Graph):
        return suggest_nodes(data, budget, seed=seed)
    from hiergcn.estimator import NodeClassifier

    estimator = _estimator(data)
    if not isinstance(estimator, NodeClassifier):
        raise InputError("Nodes to label are suggested for classes only; give the graph itself.")
    return estimator.suggest(budget, seed=seed)


def report(run: "AnyRun | Comparison", path: str | Path | None = None) -> Path:
    """Write the report of a run or a comparison as an HTML page, and return its path.

    Args:
        run: a run folder, whose page is written again; a result of `fit` or `compare`; or a fitted estimator.
        path: the file to write; by default report.html in the run folder.
    """
    from hiergcn.comparison.compare import COMPARISON, PAGE, Comparison, read_comparison
    from hiergcn.comparison.comparison_page import write_comparison_page
    from hiergcn.files import write_text
    from hiergcn.run.run import Run

    if isinstance(run, (str, Path)) and path is None:
        folder = Path(run)
        if (folder / COMPARISON).is_file():
            return write_comparison_page(read_comparison(folder), folder / PAGE)
        return Run.load(folder).write_page()
    if path is None:
        raise InputError("The page of a result needs a path; give one, or save the result to a folder.")
    if Path(path).exists():
        raise InputError(f"{path} exists already; name another file or move that one away.")
    if isinstance(run, Comparison):
        return write_comparison_page(run, Path(path))
    if isinstance(run, (str, Path)):
        raise InputError("A run folder has its page inside; leave out the path.")
    return write_text(path, (run if isinstance(run, Run) else _estimator(run)._run).page())


def load(path: str | Path, device: str = "auto") -> "NodeClassifier | NodeRegressor":
    """Return the fitted estimator of a run folder, which `hiergcn fit --out`, `save` or `fit(...).save` wrote."""
    return _estimator(Path(path), device)


def _read(data: "Data") -> tuple[Graph, Split | None, str | None]:
    """Return the graph, its split, and the name of the dataset whose recipes are used."""
    from hiergcn.run.source import Source

    if isinstance(data, Graph):
        return data, None, None
    if isinstance(data, str):
        source = Source(data)
        read = source.read()
        read.check_labels()
        return read.graph, read.split, source.dataset
    with suppress(AttributeError):
        return data.graph, data.split, Source(data.name).dataset
    raise InputError(
        f"A graph is needed here, not a {type(data).__name__}. Give a Graph, or the name of a dataset; make a Graph "
        "with Graph.from_csv, Graph.from_pandas or Graph.from_table."
    )


def _estimator(run: Any, device: str = "auto") -> "NodeClassifier | NodeRegressor":
    """Return a fitted estimator for a run folder, a result or an estimator."""
    from hiergcn.estimator import NodeClassifier, NodeRegressor
    from hiergcn.run.run import Run

    run = Run.load(run) if isinstance(run, (str, Path)) else run
    if isinstance(run, Run):
        return (NodeRegressor if run.target.kind == "numbers" else NodeClassifier).of_run(run, device)
    if not isinstance(run, (NodeClassifier, NodeRegressor)):
        kind = type(run).__name__
        raise InputError(f"A run is needed here, not a {kind}: a folder, a result, or a fitted estimator.")
    return run
