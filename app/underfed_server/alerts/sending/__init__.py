"""Takes messages from the outbox to their receivers: what each kind of channel sends, and over which connection."""
