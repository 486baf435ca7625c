"""Reads and measures the machine: processes, control groups, mounts, disks, clocks. It knows no run.

Runs in: any process of ours.
Imported by: exchange, trainer, collector, launcher, commands.
"""
