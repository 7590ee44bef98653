"""Graphs from tables of edges and nodes, from the bytes of a file to the parts of a `Graph`, in this order:

| module | what it does |
|---|---|
| `csv_files` | reads both tables, joins them, and says why no model could learn from them; start here |
| `table_files` | recognises and reads tables with types: Parquet, Excel, DuckDB, .. |
| `text_files` | checks text, finds its delimiter and the names of its columns, and reads its rows |
| `column_roles` | says which column is the id, the label, an end of an edge, .. |
| `node_ids` | ids, and finding them among millions |
| `label_columns` | labels, numbers to predict, splits, and files of further labels |
| `feature_columns`, `feature_table` | the kinds of feature columns, and the matrix that they become |
| `text_columns` | names of columns, words for a missing value, values that are compared as text |
| `findings` | what `hiergcn check` reports |
"""
