"""The pages of `dyno serve`: results in a browser, read only."""
