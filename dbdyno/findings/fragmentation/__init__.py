"""What the writes made slower: the same steps before and after them."""
