"""Reports: one view of a comparison (`page`), shown as HTML, Markdown or in the terminal."""
