"""The page as HTML, Markdown, pictures, or in the terminal."""
