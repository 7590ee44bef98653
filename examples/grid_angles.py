"""Numbers instead of classes: the voltage angles of a power grid, measured at one bus in five, with intervals."""

import numpy as np

from hiergcn import NodeRegressor, load_dataset

graph = load_dataset("activsg2000-angle").graph
angles = graph.truth  # in degrees
measured = np.random.default_rng(0).permutation(graph.n_nodes)[: graph.n_nodes // 5]
few = np.full(graph.n_nodes, np.nan)  # NaN: unknown
few[measured] = angles[measured]
hidden = np.flatnonzero(np.isnan(few))

metered = graph.with_targets(few, "angle")
print(metered)
for name, regressor in (  # a part of the measured angles calibrates the intervals of each
    ("mean", NodeRegressor("constant", coverage=0.9)),
    ("MLP", NodeRegressor("mlp", coverage=0.9)),
    ("harmonic function", NodeRegressor("harmonic", coverage=0.9)),
    ("automatic choice", NodeRegressor(coverage=0.9, time_limit=5, seed=0)),
):
    score = regressor.fit(metered).score(graph, hidden)
    lower, upper = regressor.predict_interval()
    inside = ((lower <= angles) & (angles <= upper))[hidden].mean()
    print(f"{name:18} R² {score:6.3f}   intervals of ± {(upper - lower)[0] / 2:4.1f} degrees hold {inside:.1%}")
print(regressor.result_.verdict)
