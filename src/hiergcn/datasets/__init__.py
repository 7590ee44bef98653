"""Named datasets, and graphs made to measure."""

from hiergcn.datasets.catalogue import ListedDataset as ListedDataset
from hiergcn.datasets.catalogue import dataset_names as dataset_names
from hiergcn.datasets.catalogue import list_datasets as list_datasets
from hiergcn.datasets.catalogue import load_dataset as load_dataset
from hiergcn.datasets.dataset import Dataset as Dataset
from hiergcn.datasets.dataset import DatasetInfo as DatasetInfo
from hiergcn.datasets.dataset import PaperClaim as PaperClaim
from hiergcn.datasets.planted import planted_graph as planted_graph
