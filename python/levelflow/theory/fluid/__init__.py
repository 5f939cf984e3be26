"""Networks in which laws run as fluids: `levelflow.theory.laws` joined by links and delays."""
