"""What the server did by itself beside a step: checkpoints and autovacuum."""
