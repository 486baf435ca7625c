#!/bin/sh
# SLURM's EpilogSlurmctld (slurm.conf: EpilogSlurmctld=/etc/slurm/underfed_epilog_slurmctld.sh): after a job it puts the
# verdict on its newest run into the job's AdminComment, where `sacct --format=JobID,AdminComment%120` shows it, and
# `scontrol show job` for as long as the controller remembers the job. A job without a recorded run is left as it is.
# It runs on the controller as SlurmUser, which may change that field. A node drains when a node's Epilog fails, and this
# one is no node's; it ends with 0 in any case.

# An installation of `underfed[server]`, and who may read the runs: a file with a token of the scope `view`.
underfed=${UNDERFED_COMMAND:-/opt/underfed/bin/underfed}
export UNDERFED_URL="${UNDERFED_URL:-http://underfed.example.org:7077}"
token_file=${UNDERFED_TOKEN_FILE:-/etc/slurm/underfed-view-token}

job=${SLURM_JOB_ID:-}
[ -n "$job" ] && [ -x "$underfed" ] || exit 0
if [ -r "$token_file" ]; then
  UNDERFED_TOKEN=$(cat "$token_file")
  export UNDERFED_TOKEN
fi

# Apart from the controller: the last seconds of a run come some seconds after its end, and are waited for.
(
  line=$(timeout 90 "$underfed" show "slurm:$job" --line 2>/dev/null) || exit 0
  [ -n "$line" ] || exit 0
  scontrol update "JobId=$job" "AdminComment=underfed: $line"
) </dev/null >/dev/null 2>&1 &
exit 0
