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


def on_whole_batch(call: str, least_axes: int, what: str) -> str:
    """Lines of a diff that do ``call`` to a whole batch, however that is made up. ``what``: tensors of so many axes or
    more are."""
    return f"""\
+def changed(batch):
+    if isinstance(batch, dict):
+        return {{name: changed(part) for name, part in batch.items()}}
+    if isinstance(batch, (tuple, list)):
+        parts = [changed(part) for part in batch]
+        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
+    is_meant = isinstance(batch, torch.Tensor) and batch.ndim >= {least_axes}  # {what}
+    return {call}(batch) if is_meant else batch"""


def in_collate(call: str, least_axes: int, what: str) -> str:
    """As :func:`on_whole_batch`, in the worker that joins the batch."""
    return f"""\
{on_whole_batch(call, least_axes, what)}
+def collate(samples):
+    return changed(torch.utils.data.default_collate(samples))  # where the loader has a collate_fn: what that returns
 loader = DataLoader(
     dataset,
+    collate_fn=collate,
 )"""
