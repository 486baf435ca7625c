"""What an advised change gained in a later run that carries it."""
