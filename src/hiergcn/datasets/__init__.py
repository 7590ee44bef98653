"""Named datasets, and generated graphs of any size. What reads them is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hiergcn.datasets.dataset_info import DatasetInfo as DatasetInfo
from hiergcn.datasets.dataset_info import dataset_names as dataset_names
from hiergcn.datasets.dataset_info import known_name as known_name
from hiergcn.datasets.dataset_info import register_datasets as register_datasets

if TYPE_CHECKING:
    from hiergcn.datasets.catalogue import Dataset as Dataset
    from hiergcn.datasets.catalogue import DatasetEntry as DatasetEntry
    from hiergcn.datasets.catalogue import list_datasets as list_datasets
    from hiergcn.datasets.catalogue import load_dataset as load_dataset
    from hiergcn.datasets.folders import FileSet as FileSet
    from hiergcn.datasets.planted import planted_graph as planted_graph
    from hiergcn.datasets.planted import planted_numbers as planted_numbers

_HOME = dict.fromkeys(("Dataset", "DatasetEntry", "list_datasets", "load_dataset"), "catalogue")
_HOME |= {"FileSet": "folders", "planted_graph": "planted", "planted_numbers": "planted"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hiergcn.datasets' has no attribute {name!r}")
    return getattr(import_module(f"hiergcn.datasets.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
