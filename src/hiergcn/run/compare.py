"""Several methods over the same splits and seeds.

Each method runs in a process of its own, one after the other, so that its time and its peak memory are its own.
"""

from collections.abc import Mapping, Sequence

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.evaluate.paired import compare_all
from hiergcn.graph import Graph, Split
from hiergcn.run.comparison import Comparison, MethodRun, Score
from hiergcn.run.fit import AllSeedsFailedError, Listener, fit
from hiergcn.run.process import Peak, Send, WorkFailedError, in_own_process
from hiergcn.run.settings import Settings
from hiergcn.run.split_plan import SplitPlan
from hiergcn.train.loop import SeedOutcome


class CompareListener:
    """Told what happens during a comparison. Does nothing by itself."""

    def method_started(self, model: str, splits: int, seeds: int) -> None: ...
    def seed_finished(self, model: str, split: int, seed: int, failure: str | None) -> None: ...
    def method_finished(self, run: MethodRun) -> None: ...


def compare(
    graph: Graph,
    own: Split,
    methods: Mapping[str, Settings],
    seeds: Sequence[int],
    *,
    plan: SplitPlan | None = None,
    against: str | None = None,
    device: str = "auto",
    listener: CompareListener | None = None,
) -> Comparison:
    """Run each method over the same splits and seeds. Ctrl-C keeps the methods that are finished, if there are any.

    Args:
        graph: with labels.
        own: the split that it comes with.
        methods: settings by the name to show.
        seeds: run on each split.
        plan: which splits; the graph's own where left out.
        against: the name that the others are compared with; the first where left out.
        device: as in `fit`.
        listener: told of the progress.
    """
    plan, listener = plan or SplitPlan(), listener or CompareListener()
    against = against or next(iter(methods))
    if against not in methods:
        raise InputError(f"{against!r} is not among the models compared; give one of {', '.join(methods)}.")
    if len(own.test) == 0 and plan.count is None:
        raise InputError(f"{graph.name}'s split has no test nodes to compare on; take random splits.")
    splits = plan.splits(graph, own)
    for split in splits:
        split.check(graph)
    runs: list[MethodRun] = []
    interrupted = False
    try:
        for name, settings in methods.items():
            listener.method_started(name, len(splits), len(seeds))
            runs.append(_run_method(name, settings, graph, splits, tuple(seeds), device, listener))
            listener.method_finished(runs[-1])
    except KeyboardInterrupt:
        if not runs:
            raise
        interrupted = True
    done = {run.model: run.by_pair for run in runs}
    return Comparison(
        dataset=graph.name,
        plan=plan,
        seeds=tuple(seeds),
        against=against,
        runs=tuple(runs),
        differences=compare_all(done, against) if against in done else (),
        interrupted=interrupted,
    )


def _run_method(
    name: str,
    settings: Settings,
    graph: Graph,
    splits: list[Split],
    seeds: tuple[int, ...],
    device: str,
    listener: CompareListener,
) -> MethodRun:
    def told(message: tuple[int, int, str | None]) -> None:
        listener.seed_finished(name, *message)

    try:
        (scores, epoch_seconds), peak = in_own_process(
            _train_splits, name, settings, graph, splits, seeds, device, on_message=told
        )
    except WorkFailedError as error:
        nothing = (None,) * 5
        failed = tuple(
            Score(name, number, seed, *nothing, str(error)) for number in range(len(splits)) for seed in seeds
        )
        return MethodRun(name, settings, failed, Peak(None, None), None, str(error))
    return MethodRun(name, settings, scores, peak, epoch_seconds)


class _Teller(Listener):
    """Sends every finished seed to the process that waits."""

    def __init__(self, send: Send, split: int) -> None:
        self.send, self.split = send, split

    def seed_finished(self, outcome: SeedOutcome) -> None:
        self.send((self.split, outcome.seed, outcome.failure))


def _train_splits(
    send: Send,
    name: str,
    settings: Settings,
    graph: Graph,
    splits: list[Split],
    seeds: tuple[int, ...],
    device: str,
) -> tuple[tuple[Score, ...], float | None]:
    """The work of a method's process: the scores of every split and seed, and the mean seconds of an epoch."""
    scores: list[Score] = []
    hierarchy: Hierarchy | None = None  # depends on the graph alone
    train_seconds, epochs = 0.0, 0
    for number, split in enumerate(splits):
        try:
            result = fit(
                graph, split, settings, seeds, device=device, hierarchy=hierarchy, listener=_Teller(send, number)
            )
        except AllSeedsFailedError as error:
            scores += [Score(name, number, seed, *(None,) * 5, str(error)) for seed in seeds]
            continue
        hierarchy = result.hierarchy
        train_seconds += result.seconds["train"]
        epochs += len(result.history)
        assert result.test is not None
        for outcome, accuracy, f1 in zip(
            result.outcomes, result.test.accuracy.per_seed, result.test.macro_f1.per_seed, strict=True
        ):
            scores.append(
                Score(
                    name,
                    number,
                    outcome.seed,
                    accuracy,
                    outcome.validation_accuracy,
                    f1,
                    outcome.best_epoch,
                    outcome.seconds,
                    outcome.failure,
                )
            )
    return tuple(scores), train_seconds / epochs if epochs else None
