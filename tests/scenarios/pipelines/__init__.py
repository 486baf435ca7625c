"""Training jobs of which it is known whether their input is sick, and of what: what verdicts are held against.

``python -m tests.scenarios.pipelines sick.slow_collate clear`` runs one. A file of ``sick`` makes a loader that has one
sickness, and at strength ``none`` its healthy neighbour: the same loader without it. A file of ``sound`` makes a
loop which may look hungry and is not, the more so the greater the strength. A file of ``told`` is a run that
cannot be had here, as the windows that an agent would have sent of it.
"""
