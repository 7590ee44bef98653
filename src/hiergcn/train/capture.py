"""Epochs of a GPU, recorded once and then played: the launches of their many small kernels cost nothing any more."""

from collections.abc import Callable, Sequence

import torch

_EAGER = 3  # epochs before the recording, in which libraries set themselves up


class Captured:
    """A function without arguments or result that does the same at every call, as a CUDA graph.

    The first calls run as they are written; the graph then does the same to the same memory. The generators go on from
    where they are at each call, as they would without it.
    """

    def __init__(self, function: Callable[[], None], generators: Sequence[torch.Generator]) -> None:
        self.function, self.generators = function, generators
        self.stream = torch.cuda.Stream()
        self.stream.wait_stream(torch.cuda.current_stream())
        self.calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        self.calls += 1
        if self.calls <= _EAGER:
            with torch.cuda.stream(self.stream):
                self.function()
            torch.cuda.current_stream().wait_stream(self.stream)
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            for generator in self.generators:
                self.graph.register_generator_state(generator)
            with torch.cuda.graph(self.graph, stream=self.stream):
                self.function()
        self.graph.replay()
