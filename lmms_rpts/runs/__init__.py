"""Reading runs: samples files as typed responses, rounds of a model, figures over them."""
