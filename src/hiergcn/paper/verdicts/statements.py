"""The sentences of the paper that claim a result, in its order, each with the function that judges it."""

from collections.abc import Callable
from dataclasses import dataclass

from hiergcn.paper.verdicts import ablations as figures
from hiergcn.paper.verdicts import measured, table2, table3
from hiergcn.paper.verdicts.evidence import Evidence
from hiergcn.paper.verdicts.verdict import Finding, Verdict


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper and how it is judged."""

    place: str
    quote: str
    judge: Callable[[Evidence], Finding]

    def verdict(self, evidence: Evidence) -> Verdict:
        found = self.judge(evidence)
        return Verdict(self.place, self.quote, found.word, found.reading, found.details)


STATEMENTS = (
    Statement(
        "Abstract",
        "outperforming state-of-the-art methods and acquiring up to 5.9% performance improvement in terms of accuracy",
        table2.up_to,
    ),
    Statement(
        "Abstract",
        "the proposed coarsening procedure enlarges the receptive field for each node, hence more global information "
        "can be captured",
        measured.larger_receptive_field,
    ),
    Statement(
        "Section 3, coarsening layer",
        "nodes B and D are structurally equivalent … node pair (C, E) has the largest structural similarity … only "
        "node A remains unmarked",
        measured.toy,
    ),
    Statement(
        "Section 3, complexity",
        "the preprocessing takes O(n log n) to sort the unmarked nodes and O(mn) for SSG",
        measured.preprocessing,
    ),
    Statement(
        "Section 3, complexity",
        "H-GCN is as asymptotically efficient as GCN and is more efficient than GAT",
        measured.epochs,
    ),
    Statement(
        "Section 4.2, Table 2",
        "The performance of our proposed method is reported based on the average of 20 measurements: "
        "84.5 ± 0.5 … 72.8 ± 0.5 … 79.8 ± 0.4 … 80.1 ± 0.4",
        table2.figures,
    ),
    Statement(
        "Section 4.2",
        "running GAT on the NELL dataset requires more than 64G memory",
        table2.gat_on_nell,
    ),
    Statement(
        "Section 4.2",
        "the proposed method consistently outperforms other state-of-the-art methods",
        table2.outperforms,
    ),
    Statement(
        "Section 4.2",
        "compared with citation networks, H-GCN surpasses other baselines by larger margins on the NELL dataset",
        table2.larger_on_nell,
    ),
    Statement(
        "Section 4.2",
        "the accuracy of H-GCN exceeds GCN and DGCN by 7.1% and 5.9% on NELL dataset respectively",
        table2.exceeds_on_nell,
    ),
    Statement(
        "Section 4.2",
        "traditional random-walk-based algorithms such as DeepWalk and Planetoid, their performance is relatively poor",
        table2.walkers_are_poor,
    ),
    Statement("Section 4.2", "GAT outperforms GCN", table2.gat_over_gcn),
    Statement(
        "Section 4.2",
        "on the NELL dataset, there are fewer training samples per class … training nodes are further away from "
        "testing nodes on average",
        measured.farther_on_nell,
    ),
    Statement(
        "Section 4.3, Table 3",
        "our method outperform other baselines in all cases",
        table3.outperforms,
    ),
    Statement(
        "Section 4.3, Table 3; with as few labels to validate as to train",
        "our method outperform other baselines in all cases",
        table3.outperforms_small,
    ),
    Statement(
        "Section 4.3",
        "With the number of labeled data decreasing, our method obtains a more considerable margin over these baseline "
        "algorithms",
        table3.margin_grows,
    ),
    Statement(
        "Section 4.3",
        "when only five labeled nodes per class … are given, the accuracy of H-GCN exceeds GCN, DGCN, and GAT by 7.5%, "
        "6.4%, and 6.2% respectively",
        table3.five_labels,
    ),
    Statement(
        "Section 4.3",
        "these baselines downgrade considerably. However … the performance of H-GCN declines slightly when labeled "
        "data decreases dramatically",
        table3.declines_slightly,
    ),
    Statement(
        "Section 4.4, Table 4",
        "H-GCN has better performance compared to H-GCN without coarsening mechanisms on all datasets",
        figures.coarsening_helps,
    ),
    Statement(
        "Section 4.4, Table 4",
        "the model with node weight embeddings performs better",
        figures.embedding_helps,
    ),
    Statement(
        "Section 4.5, figure of coarsening layers",
        "the performance of H-GCN achieves the best when there are four coarsening layers on three citation networks "
        "and five on the knowledge graph",
        figures.best_levels,
    ),
    Statement(
        "Section 4.5",
        "when adding too many coarsening layers, the performance drops",
        figures.too_many_levels,
    ),
    Statement(
        "Section 4.5, figure of channels",
        "the performance improves with the number of channels increasing until four channels",
        figures.more_channels,
    ),
    Statement(
        "Section 4.5, figure of channels; four as the best number",
        "the performance improves with the number of channels increasing until four channels",
        figures.best_channels,
    ),
    Statement(
        "Section 4.5",
        "too many channels will inevitably introduce redundant parameters to the model, leading to overfitting as well",
        figures.too_many_channels,
    ),
)


HEADLINES = frozenset(
    statement.quote
    for statement in STATEMENTS
    if statement.judge
    in (
        measured.larger_receptive_field,
        table2.figures,
        table2.outperforms,
        table3.margin_grows,
        figures.coarsening_helps,
        figures.embedding_helps,
    )
)
"""What the paper is about, for a page that has room for few of them."""


def verdicts(evidence: Evidence) -> list[Verdict]:
    return [statement.verdict(evidence) for statement in STATEMENTS]
