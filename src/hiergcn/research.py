"""What experiments are made of: settings, splits, training, scores, paired tests, charts and workers.

`hiergcn-experiments` uses this package through the public names of `hiergcn`, `hiergcn.datasets`, `hiergcn.coarsening`,
`hiergcn.cli`, `hiergcn.extend` and this module alone.
"""

from hiergcn.advise.doubtful import averaged, find_doubts
from hiergcn.advise.suggest import DEPTH, comparable_features, suggest
from hiergcn.choose.portfolio import candidate_title
from hiergcn.coarsening.diffusion import Diffusion
from hiergcn.coarsening.receptive_field import receptive_field_sizes
from hiergcn.comparison.splits import PUBLIC, Drawn, SplitSpec, drawn_splits
from hiergcn.evaluate.calibration import fit_temperature
from hiergcn.evaluate.metrics import Summary, evaluate_promise, evaluate_test, metrics_for, result_key
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
from hiergcn.graph.split import first_of_each_class, split_generator
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
