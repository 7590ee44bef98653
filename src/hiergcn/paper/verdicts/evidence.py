"""The cells that statements are judged by, found by name.

On NELL H-GCN is judged by our recipe, which learns, and not by the paper's settings, which do not: that favours the
paper.
"""

from typing import Any

from hiergcn.paper.collect import CellResult, Results
from hiergcn.paper.experiments import NELL, Scale, experiments
from hiergcn.paper.published import TABLE3, Printed

WALKERS = ("deepwalk", "planetoid-t", "planetoid-i")
NETWORKS = ("gcn", "gat", "dgcn")


class Evidence:
    """The cells of all experiments at one scale."""

    def __init__(self, results: Results, scale: Scale) -> None:
        self.results, self.scale = results, scale
        self.experiments = experiments(scale)
        self.cells = {name: results.cells(one) for name, one in self.experiments.items()}

    def ours(self, dataset: str) -> CellResult:
        """H-GCN in Table 2."""
        return self.cells["table2"]["hgcn-nell" if dataset == NELL else "hgcn", dataset, ""]

    def other(self, arm: str, dataset: str) -> CellResult:
        return self.cells["table2"][arm, dataset, ""]

    def few(self, arm: str, column: str) -> CellResult:
        return self.cells["table3"][arm, self.scale.few_labels_on, column]

    def printed_few(self, arm: str, count: int) -> Printed | None:
        """The paper's figure of Table 3, where the scale runs what the paper ran."""
        return TABLE3[arm].get(count) if arm in TABLE3 and self.scale.few_labels_on == "pubmed" else None

    def ablated(self, arm: str, dataset: str) -> CellResult:
        return self.cells["table4"][f"{arm}-nell" if dataset == NELL else arm, dataset, ""]

    def measured(self, experiment: str) -> list[dict[str, Any] | None]:
        found = [self.results.measured(one.name, one.arguments) for one in self.experiments[experiment].measurements]
        return [None if record is None else record.result for record in found]
