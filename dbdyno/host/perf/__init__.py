"""Profiles of processes by `perf`: which functions their CPU time goes to, and what they count."""

from dbdyno.host.perf.program import Perf, call_graph_of, find, image_of
from dbdyno.host.perf.recording import FoldedProfile, Recording

__all__ = ["FoldedProfile", "Perf", "Recording", "call_graph_of", "find", "image_of"]
