"""A team's week, made: runs of every cause and state, as their agents would have posted them."""
