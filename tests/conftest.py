"""What holds for every test."""

from __future__ import annotations

import signal

# A shell starts what runs in its background with SIGINT ignored, and so would be the jobs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
