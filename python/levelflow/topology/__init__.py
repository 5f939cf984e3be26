"""Networks from graphs: GraphML files, NetworkX graphs, generators, and the traffic between their nodes."""
