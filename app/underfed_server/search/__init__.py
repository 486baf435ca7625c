"""Search expressions: one line that selects runs from the list, the same in API, page and terminal."""
