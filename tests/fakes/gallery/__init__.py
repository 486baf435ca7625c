"""A team's week of synthetic runs, of every cause and state, as their agents would have posted them."""
