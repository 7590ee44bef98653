"""Named datasets, and generated graphs of any size."""

from hiergcn.datasets.catalogue import Dataset as Dataset
from hiergcn.datasets.catalogue import DatasetInfo as DatasetInfo
from hiergcn.datasets.catalogue import dataset_names as dataset_names
from hiergcn.datasets.catalogue import has_target as has_target
from hiergcn.datasets.catalogue import is_dataset as is_dataset
from hiergcn.datasets.catalogue import list_datasets as list_datasets
from hiergcn.datasets.catalogue import load_dataset as load_dataset
from hiergcn.datasets.city import city_graph as city_graph
from hiergcn.datasets.planted import planted_graph as planted_graph
from hiergcn.datasets.planted import planted_numbers as planted_numbers
