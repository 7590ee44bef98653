"""What the page of a run reads of it. `run.run.Run` has all of it, in the room above."""

from collections.abc import Mapping
from typing import Any, Protocol

import pandas as pd
from numpy.typing import NDArray

from hiergcn.coarsening import Hierarchy
from hiergcn.explanation.votes import Votes
from hiergcn.graph.coordinates import Coordinates
from hiergcn.settings.settings import Settings


class ShownRun(Protocol):
    """A finished run."""

    @property
    def name(self) -> str: ...
    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def scores(self) -> Mapping[str, Any]: ...
    @property
    def table(self) -> pd.DataFrame: ...
    @property
    def probabilities(self) -> NDArray[Any]: ...
    @property
    def confidence(self) -> NDArray[Any]: ...
    @property
    def history(self) -> pd.DataFrame: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def hierarchy(self) -> Hierarchy | None: ...
    @property
    def view(self) -> Hierarchy | None: ...
    @property
    def votes(self) -> Votes | None: ...
    @property
    def coordinates(self) -> Coordinates | None: ...
    @property
    def doubtful(self) -> pd.DataFrame | None: ...
    @property
    def suggestions(self) -> pd.DataFrame | None: ...
    @property
    def environment(self) -> Mapping[str, Any]: ...


def evaluated_parts(metrics: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of the split that the run is judged by.

    Labels that took turns have all validated, but for the only label of a class.
    """
    if "per_class" not in metrics:
        return ("test" if metrics["test_r2"] else "validation",)
    on: str = metrics["per_class"]["on"]
    return ("train", "validation") if on == "validation" and metrics["turns"] > 1 else (on,)
