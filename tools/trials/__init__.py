"""`python tools/trials NAME`: the tables of figures that a change is judged by."""
