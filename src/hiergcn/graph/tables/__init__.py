"""Reading tables of nodes and edges: column roles, feature encoders, findings."""
