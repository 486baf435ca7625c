"""What ``underfed run`` has imported when it ends, and ``underfed push``: the fork server that starts these for tests
imports this.
"""

import underfed.commands.push
import underfed.host.calibration
import underfed.launcher.command_end
import underfed.launcher.run
import underfed.launcher.verdict  # noqa: F401
