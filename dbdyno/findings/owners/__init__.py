"""What each owner costs in a window, and the arm's servers between its turns."""
