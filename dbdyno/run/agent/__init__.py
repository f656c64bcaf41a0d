"""Labs on other hosts: dyno there does what dyno here asks, over the user's own SSH.

`session` starts `dyno agent` on a host and speaks with it, in the messages of `wire`; `serve` is
that command, `lab` does there what it is asked, `files` brings what was measured back. `site` and
`runner` let the blocks of a plan run there, `seat` makes load there for a server elsewhere.
"""
