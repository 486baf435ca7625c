"""What ``underfed run`` has imported when it ends: the fork server that starts launchers for tests imports this."""

import underfed.host.calibration
import underfed.launcher.command_end
import underfed.launcher.run
import underfed.launcher.verdict  # noqa: F401
