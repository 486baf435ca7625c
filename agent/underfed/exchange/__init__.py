"""What two processes of a run share: rings, files, options, and who this process is among the ranks.

Runs in: the training process, its workers, the collector and the launcher.
Imported by: trainer, collector, integrations, launcher, commands.
"""
