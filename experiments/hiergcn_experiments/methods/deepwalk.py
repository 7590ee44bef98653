"""DeepWalk, Perozzi et al. (KDD 2014), with a linear support vector machine, as in the paper's comparison.

Random walks are read as sentences whose words are nodes. A skip-gram with hierarchical softmax gives each node i an
embedding e_i, from the edges alone. A one-vs-rest linear SVM on the embeddings of the training nodes then classifies:

    z_ik = w_kᵀ e_i + b_k

One step learns everything, so validation is reported but chooses nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from sklearn.svm import LinearSVC
from torch import Tensor

from hiergcn.errors import MissingPackageError
from hiergcn.extend import (
    Count,
    Features,
    GraphOnlyMethod,
    Labelled,
    MethodConfig,
    OneStepModel,
    Positive,
    Task,
    at_least,
    numpy_generator,
    setting,
)
from hiergcn_experiments.methods.walks import NOWHERE, Walker


@dataclass(frozen=True)
class DeepWalkConfig(MethodConfig):
    """Settings of walks, skip-gram and SVM; the defaults are the paper's for its larger graphs."""

    closed_form: ClassVar[bool] = True

    walks: Count = setting(80, "Walks from each node.")
    walk_length: Annotated[int, at_least(2)] = setting(40, "Nodes on each walk.")
    window: Count = setting(10, "Largest distance on a walk between a node and its context.")
    embedding: Count = setting(128, "Width of e.")
    passes: Count = setting(1, "Times that the skip-gram reads the walks.")
    C: Positive = setting(1.0, "Weight of the SVM's errors against its margin.")


class Sentences:
    """The walks as gensim reads them. Each iteration makes them again, so that they are never all in memory."""

    def __init__(self, walker: Walker, walks: int, length: int, seed: int) -> None:
        self.walker, self.walks, self.length, self.seed = walker, walks, length, seed
        self.words = [str(node) for node in range(walker.n_nodes)]

    def __iter__(self) -> Iterator[list[str]]:
        rng = np.random.default_rng(self.seed)
        for _ in range(self.walks):  # each node once, in a new order (Algorithm 1)
            starts = rng.permutation(self.walker.n_nodes)
            for walk in self.walker.walks(starts, self.length, int(rng.integers(2**63))):
                yield [self.words[node] for node in walk.tolist() if node != NOWHERE]


def skip_gram(sentences: Sentences, config: DeepWalkConfig, seed: int) -> np.ndarray:
    """Train the skip-gram and return e of every node; (n, embedding). More than one worker would not repeat."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise MissingPackageError("DeepWalk needs gensim, which is not installed; run pip install gensim.") from None
    size = {"vector_size": config.embedding, "window": config.window, "epochs": config.passes}
    words = Word2Vec(sentences, **size, sg=1, hs=1, negative=0, min_count=0, sample=0, workers=1, seed=seed).wv
    embedding: np.ndarray = words.vectors[[words.key_to_index[word] for word in sentences.words]]
    return embedding


class DeepWalk(OneStepModel):
    """Embedding and SVM of one graph. Both are buffers, so that a model is restored without new walks."""

    weighs_classes = False
    embedding: Tensor  # (n, embedding)
    W: Tensor  # (embedding, classes)
    b: Tensor  # (classes,)

    def __init__(
        self, walker: Walker, n_features: int, n_classes: int, config: DeepWalkConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.walker, self.config, self.generator = walker, config, generator
        self.register_buffer("embedding", torch.zeros(walker.n_nodes, config.embedding))
        self.register_buffer("W", torch.zeros(config.embedding, n_classes))
        self.register_buffer("b", torch.zeros(n_classes))

    def forward(self, features: Features) -> Tensor:
        return self.embedding @ self.W + self.b

    def solve(self, labelled: Labelled) -> None:
        config, rng = self.config, numpy_generator(self.generator)
        sentences = Sentences(self.walker, config.walks, config.walk_length, int(rng.integers(2**63)))
        embedding = skip_gram(sentences, config, int(rng.integers(2**31)))
        nodes, classes = labelled.nodes.cpu().numpy(), labelled.classes.cpu().numpy()
        weights = None if labelled.class_weights is None else dict(enumerate(labelled.class_weights.tolist()))
        svm = LinearSVC(C=config.C, class_weight=weights, random_state=int(rng.integers(2**31)))
        svm.fit(embedding[nodes], classes)
        W, b = svm.coef_, svm.intercept_
        if len(W) == 1:  # of two classes, scikit-learn keeps the second alone; the first is its opposite
            W, b = np.vstack([-W, W]), np.concatenate([-b, b])
        with torch.no_grad():
            self.embedding.copy_(torch.from_numpy(embedding))
            self.W[:, svm.classes_] = torch.from_numpy(W.T).to(self.W)
            self.b[svm.classes_] = torch.from_numpy(b).to(self.b)


class DeepWalkMethod(GraphOnlyMethod):
    """DeepWalk as a method: each seed draws its own walks."""

    network = DeepWalk

    def structure(self, task: Task, device: torch.device) -> Walker:
        return Walker.on(task.adjacency)
