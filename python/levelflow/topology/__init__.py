"""Networks from GraphML files, NetworkX graphs and generators, and the traffic between their nodes."""
