"""The predictor: a simulator of the DataLoader that runs the recorded batches and steps under another setting."""
