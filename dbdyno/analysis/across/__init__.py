"""Results beside each other that were not measured together: unpaired, and so never judged."""
