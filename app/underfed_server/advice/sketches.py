"""Lines that more than one piece of advice prints. They run with samples of every kind: how a program's are made up is
not known."""

from __future__ import annotations


def joining(joined: str) -> str:
    """A collate function, as added lines of a diff. ``joined``: what is made of ``tensors``, a sample's each."""
    return f"""\
+def collate(samples):
+    first = samples[0]
+    if isinstance(first, dict):
+        return {{name: collate([sample[name] for sample in samples]) for name in first}}
+    if isinstance(first, tuple):
+        fields = [collate(field) for field in zip(*samples)]
+        return type(first)(*fields) if hasattr(first, "_fields") else tuple(fields)
+    if isinstance(first, str):
+        return list(samples)
+    if getattr(first, "ndim", 0) == 0:  # numbers
+        return torch.tensor(samples)
+    tensors = [torch.as_tensor(sample) for sample in samples]  # arrays share their memory with them
+    return {joined}"""
