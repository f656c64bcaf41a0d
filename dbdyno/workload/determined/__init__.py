"""Whether a query's text and the data determine its answer; asked of its tree, of each part.

`open_parts.of` answers. `sql_tree` parses, `model.catalog` is what the server is asked, `query`,
`sources` and `write` read statements, `value` and `aggregate` what stands in them.
"""
