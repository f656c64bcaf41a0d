"""Results and farms as a folder of pages that any web server, or none, can show."""
