"""Predict with an exported run: numpy and onnxruntime are all that is needed.

hiergcn fit examples/karate/edges.csv examples/karate/nodes.csv --id member --label club --model gcn --out run
hiergcn export run --onnx model.onnx
python examples/onnx_runtime.py model.onnx
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime

path = Path(sys.argv[1])
with np.load(path.with_suffix(".npz"), allow_pickle=False) as saved:
    inputs = {name: saved[name] for name in saved.files if name not in ("ids", "class_names")}
    ids, class_names = saved["ids"], saved["class_names"]
session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
(probabilities,) = session.run(None, inputs)  # (n, classes); change the features to see what would be predicted then
for name, best, row in zip(ids[:5], probabilities.argmax(axis=1), probabilities, strict=False):
    print(name, class_names[best], f"{row[best]:.3f}")
