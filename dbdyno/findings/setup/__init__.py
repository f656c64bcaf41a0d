"""What was compared: arms, workloads, blocks."""
