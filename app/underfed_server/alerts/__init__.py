"""Alerts people when a run loses time: what is due after a judgement, and sending it. The import direction: after
``diagnose``, before ``api``.
"""
