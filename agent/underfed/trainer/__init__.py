"""All that runs inside the program that trains: it hooks the loaders and records into rings.

Runs in: the training process and its workers.
Imported by: integrations, launcher, commands.
"""
