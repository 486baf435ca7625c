"""Training jobs whose problem, if they have one, is known: verdicts are compared with that.

``python -m tests.scenarios.pipelines sick.slow_collate clear`` runs one. A file of ``sick`` has a loader with one
problem (its sickness), and at strength ``none`` its healthy neighbour: the same loader without it. A file of ``sound``
has a loop that looks as if it waited for data and does not, the more so the greater the strength. A file of
``synthetic`` is a run that needs other hardware, as the windows that an agent would have sent of it.
"""
