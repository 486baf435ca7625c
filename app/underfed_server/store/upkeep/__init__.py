"""What the service does by itself, in pieces between which windows are written."""
