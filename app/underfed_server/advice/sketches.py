"""Lines that more than one piece of advice prints. They run with samples of every kind: how a program's are made up is
not known."""

from __future__ import annotations

JOINING = """\
+def collate(samples):
+    first = samples[0]
+    if isinstance(first, dict):
+        return {name: collate([sample[name] for sample in samples]) for name in first}
+    is_numbers = isinstance(first, list) and all(isinstance(each, (int, float)) for each in first)
+    if isinstance(first, (tuple, list)) and not is_numbers:
+        fields = [collate(field) for field in zip(*samples)]
+        return type(first)(*fields) if hasattr(first, "_fields") else type(first)(fields)
+    if isinstance(first, str):
+        return list(samples)
+    if not is_numbers and getattr(first, "ndim", 0) == 0:  # one number each
+        return torch.tensor(samples)
+    tensors = [torch.as_tensor(sample) for sample in samples]  # arrays share their memory with them
+    if len({tensor.shape for tensor in tensors}) > 1:  # of several lengths: the shorter end in zeros
+        return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True)
+    return torch.stack(tensors)  # one copy"""
"""A collate function, as added lines of a diff."""
