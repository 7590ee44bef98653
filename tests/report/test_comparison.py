"""Bar chart of a comparison."""

from hiergcn.graph.split import PUBLIC
from hiergcn.report.comparison import comparison_figure
from hiergcn.run.compare import Comparison, MethodRun, Score
from hiergcn.run.process import Peak
from hiergcn.run.settings import settings_for


def method(name: str, *accuracies: float | None) -> MethodRun:
    scores = tuple(
        Score(name, 0, k, {} if value is None else {"accuracy": value}, value) for k, value in enumerate(accuracies)
    )
    return MethodRun(name, settings_for("hgcn"), scores, Peak(None, None), None)


def drawn(*runs: MethodRun) -> tuple[list[float], list[str], str, float]:
    """Return the ends of the bars, the texts, the label of the axis and its start."""
    axes = comparison_figure(Comparison("toy", (PUBLIC,), (0, 1), runs[0].model, runs, ())).axes[0]
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    return ends, [text.get_text() for text in axes.texts], axes.get_xlabel(), axes.get_xlim()[0]


def test_bars_end_at_the_means_and_labels_count_failures() -> None:
    ends, texts, label, start = drawn(method("a", 0.8, 0.82), method("b", 0.7, None), method("c", None, None))
    assert [round(end, 6) for end in ends] == [81.0, 70.0]
    assert texts == ["81.0 ± 1.4", "70.0, 1 of 2 failed", "  every run failed"]
    assert label == "test accuracy, % (axis starts at 60)"
    assert start == 60


def test_the_axis_starts_above_zero_only_if_all_methods_are_close() -> None:
    *_, label, start = drawn(method("a", 0.8, 0.82), method("b", 0.1, 0.2))
    assert label == "test accuracy, %"
    assert start == 0
