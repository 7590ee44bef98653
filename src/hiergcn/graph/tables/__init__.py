"""Graphs from tables of edges and nodes, from the bytes of a file to the parts of a `Graph`, in this order:

| module | what it does |
|---|---|
| `csv_files` | reads both files, and says why no model could learn from them; start here |
| `table_files`, `duckdb_files` | recognise and read tables with types: Parquet, Excel, .. |
| `text_files` | opens text: compression, encoding, comments |
| `delimited` | finds delimiter and column names of text, and reads its rows |
| `column_roles` | says which column is the id, the label, an end of an edge, .. |
| `assemble` | turns columns into ids, labels, features and edges, and joins them; frames of pandas enter here |
| `node_ids`, `text_lookup` | ids, and finding them among millions |
| `label_columns` | labels, numbers to predict, and splits |
| `feature_columns`, `free_text` | encode features |
| `text_columns` | values that are compared as text |
| `findings` | what `hiergcn check` reports |
| `further_labels` | joins files of labels to a graph |
"""
