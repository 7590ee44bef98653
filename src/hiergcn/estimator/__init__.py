"""The front door in Python."""

from hiergcn.estimator.classifier import HGCNClassifier as HGCNClassifier
from hiergcn.estimator.classifier import NodeClassifier as NodeClassifier
from hiergcn.estimator.classifier import NotFittedError as NotFittedError
from hiergcn.estimator.classifier import OnGraph as OnGraph
