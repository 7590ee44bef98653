"""The methods that H-GCN is compared with, one per file."""
