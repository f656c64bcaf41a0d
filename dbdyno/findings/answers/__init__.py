"""What each query answered on each arm."""
