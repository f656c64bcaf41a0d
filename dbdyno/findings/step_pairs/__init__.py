"""Two steps of one arm side by side: before and after the writes, few clients and many."""
