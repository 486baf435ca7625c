"""Channels and rules, what each rule knows of each run, and the messages that wait or were sent."""
