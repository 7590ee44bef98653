"""What a method of one's own is made of: settings, interfaces, layers, sparse matrices and compiled kernels.

`register_method` makes it known; docs/contributing.md has an example.
"""

from hiergcn.graph.task import Task
from hiergcn.model.baselines.base import (
    AdjacencyMethod,
    FlatMethod,
    GraphOnlyMethod,
    OneStepModel,
    drawing_from,
    numpy_generator,
)
from hiergcn.model.baselines.gat import EdgeMethod, Edges, on_projected, pyg_layers
from hiergcn.model.hgcn import HGCN, GraphConvolution, HGCNMethod, glorot
from hiergcn.model.levels import Field, LevelTensors
from hiergcn.model.method import (
    Features,
    Labelled,
    Layer,
    MemoryPlan,
    NodeModel,
    Optimiser,
    Prepared,
    Workload,
    layers_memory,
)
from hiergcn.model.ops.dense import dense_product
from hiergcn.model.ops.dropout import dropout
from hiergcn.model.ops.sparse import FeatureLinear, Pattern, SparseMatrix, propagate, symmetrically_normalised
from hiergcn.settings.fields import (
    SCALING,
    Count,
    InputConfig,
    MethodConfig,
    NonNegative,
    Positive,
    Rate,
    Scaling,
    Share,
    TrueShare,
    Whole,
    at_least,
    setting,
)
from hiergcn.settings.methods import HGCNConfig, Pooling
