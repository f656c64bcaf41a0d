"""How arms are paired, estimated and judged, and what is to be doubted of it. Pure."""
