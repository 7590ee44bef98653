"""What experiments are made of: settings, splits, training, scores, paired tests, charts and workers.

`hiergcn-experiments` uses this package through the public names of `hiergcn`, `hiergcn.datasets`, `hiergcn.coarsening`,
`hiergcn.cli`, `hiergcn.extend` and this module alone.
"""

from hiergcn.advise.doubtful import averaged, find_doubts
from hiergcn.advise.suggest import DEPTH, comparable_features, suggested_nodes
from hiergcn.choose.portfolio import candidate_title
from hiergcn.coarsening.diffusion import Diffusion
from hiergcn.coarsening.receptive_field import receptive_field_sizes
from hiergcn.comparison.splits import PUBLIC, Drawn, SplitSpec, drawn_splits, few_labels
from hiergcn.evaluate.calibration import fit_temperature
from hiergcn.evaluate.metrics import Summary, evaluate_sets, evaluate_test, metrics_for, result_key
from hiergcn.evaluate.paired import (
    TEST,
    PairedDifference,
    Scores,
    holm,
    holm_corrected,
    paired_difference,
    unit_differences,
)
from hiergcn.files import write_text, written_whole
from hiergcn.graph.neighbourhoods import neighbourhood_sizes
from hiergcn.model.inputs import build_method
from hiergcn.reports import axes, palette
from hiergcn.reports.axes import Axis
from hiergcn.reports.palette import method_colour
from hiergcn.reports.panels import Entry, Figure, Panel
from hiergcn.reports.template import rendered, script
from hiergcn.run.fit import fit
from hiergcn.run.run import Run
from hiergcn.settings.fields import TrainConfig
from hiergcn.settings.registry import config_class, method_title
from hiergcn.settings.settings import GROUPS, Settings, settings_for
from hiergcn.train.trainer import Trainer
from hiergcn.workers.machine import choose_device, cores, environment, peak_memory, reset_peak_memory
from hiergcn.workers.memory_plan import unit_request
from hiergcn.workers.pool import Engine, Pool, Reply, Request, Send, Work

__all__ = ["DEPTH", "GROUPS", "PUBLIC", "TEST"]
__all__ += ["Axis", "Diffusion", "Engine", "Entry", "Figure", "PairedDifference", "Panel", "Pool", "Reply"]
__all__ += ["Drawn", "SplitSpec", "drawn_splits", "few_labels"]
__all__ += ["Request", "Run", "Scores", "Send", "Settings", "Summary", "TrainConfig", "Trainer", "Work"]
__all__ += ["averaged", "axes", "build_method", "candidate_title", "choose_device", "comparable_features"]
__all__ += ["config_class", "cores"]
__all__ += ["environment", "evaluate_sets", "evaluate_test", "find_doubts", "fit", "fit_temperature", "holm"]
__all__ += ["holm_corrected", "method_colour", "method_title", "metrics_for", "neighbourhood_sizes"]
__all__ += ["paired_difference", "palette", "peak_memory", "receptive_field_sizes", "rendered"]
__all__ += ["reset_peak_memory", "result_key", "script", "settings_for", "suggested_nodes", "unit_differences"]
__all__ += ["unit_request", "write_text", "written_whole"]
