"""The front door in Python."""

from hiergcn.estimator.classifier import HGCNClassifier as HGCNClassifier
from hiergcn.estimator.classifier import NodeClassifier as NodeClassifier
from hiergcn.estimator.classifier import OnGraph as OnGraph
from hiergcn.estimator.node_estimator import NotFittedError as NotFittedError
from hiergcn.estimator.regressor import NodeRegressor as NodeRegressor
from hiergcn.estimator.regressor import NumbersOnGraph as NumbersOnGraph
