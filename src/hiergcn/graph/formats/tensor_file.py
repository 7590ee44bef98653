"""Files of one tensor, as `torch.save` writes them. torch is imported only when a file is read."""

import warnings
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hiergcn.errors import InputError


def read_tensor(path: Path) -> NDArray[Any]:
    """Return the tensor in a file. Anything else that the file names is refused, and no code in it runs."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on pickle protocols: the reason below says enough
            tensor = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can fail in any way
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{path} cannot be read ({reason:.200}); put the original file there.") from error
    if not isinstance(tensor, torch.Tensor):
        raise InputError(f"{path} holds a {type(tensor).__name__}, not a tensor; put the original file there.")
    array: NDArray[Any] = tensor.detach().numpy()
    return array
