"""The bar chart of a comparison."""

from hiergcn.report.comparison import comparison_figure
from hiergcn.run.comparison import Comparison, MethodRun, Score
from hiergcn.run.process import Peak
from hiergcn.run.settings import settings_for
from hiergcn.run.split_plan import SplitPlan


def method(name: str, *accuracies: float | None) -> MethodRun:
    scores = tuple(Score(name, 0, k, value, value, value, 1, 1.0, None) for k, value in enumerate(accuracies))
    return MethodRun(name, settings_for("hgcn"), scores, Peak(None, None), None)


def drawn(*runs: MethodRun) -> tuple[list[float], list[str], str, float]:
    """Ends of the bars, the words in the picture, the label of the axis, its begin."""
    axes = comparison_figure(Comparison("toy", SplitPlan(), (0, 1), runs[0].model, runs, ())).axes[0]
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    return ends, [text.get_text() for text in axes.texts], axes.get_xlabel(), axes.get_xlim()[0]


def test_bars_end_at_the_means_and_failures_are_named() -> None:
    ends, words, label, begin = drawn(method("a", 0.8, 0.82), method("b", 0.7, None), method("c", None, None))
    assert [round(end, 6) for end in ends] == [81.0, 70.0]
    assert words == ["81.0 ± 1.4", "70.0, 1 of 2 failed", "  every run failed"]
    assert label == "test accuracy, %, axis begins at 60"
    assert begin == 60


def test_an_axis_is_cut_only_where_all_lie_close_together() -> None:
    *_, label, begin = drawn(method("a", 0.8, 0.82), method("b", 0.1, 0.2))
    assert label == "test accuracy, %"
    assert begin == 0
