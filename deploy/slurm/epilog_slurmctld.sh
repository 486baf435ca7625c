#!/bin/sh
# SLURM's EpilogSlurmctld (slurm.conf: EpilogSlurmctld=/etc/slurm/underfed_epilog_slurmctld.sh): after a job it puts the
# verdict on its newest run into the job's AdminComment, where `sacct --format=JobID,AdminComment%120` shows it. A job
# without a recorded run is left as it is. It needs slurmdbd: `scontrol` changes no job that has ended.
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

# The last seconds of a run come some seconds after its end, and are waited for: apart from the controller, which ends
# what is still in this script's session when the script ends. Its first line says that it is in one of its own.
if [ "${1:-}" != apart ]; then
  setsid --fork "$0" apart </dev/null 2>/dev/null | read -r _
  exit 0
fi
echo apart
exec >/dev/null 2>&1
line=$(timeout 90 "$underfed" show "slurm:$job" --line) || exit 0
[ -n "$line" ] || exit 0
sacctmgr --immediate modify job where "jobid=$job" set "AdminComment=underfed: $line"
exit 0
