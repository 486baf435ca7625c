"""Logs a run's figures where its program logs its own: MLflow's run, TensorBoard's directory."""
