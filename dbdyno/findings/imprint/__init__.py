"""What only one run of a step can have, by which copied and moved blocks are told."""
