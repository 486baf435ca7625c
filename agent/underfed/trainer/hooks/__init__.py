"""The training process's side: what is patched into torch's DataLoader iterators, and what that records.

Nothing is imported here: a spawned worker imports ``hooks.worker`` before anything else.
"""
