"""What is spliced into torch's DataLoader iterators, and what that records.

The way of one ``iter(loader)``:

1. torch constructs its iterator. Its ``__init__`` calls ``Callbacks.constructing`` (``callbacks``), spliced into it
   by ``Hooks`` (``install``).
2. That calls ``control._open_session`` with the loader: is it recorded, and as which ``WatchedLoader``
   (``registry``)? Under ``underfed run`` a loader is watched here.
3. ``open_session`` (``session``) creates the ``Session``, which is kept as an attribute of the iterator. Each later
   callback finds it there, and writes to the step ring of its ``WatchedLoader``; so do those of ``__next__``
   (``requests``).
"""
