#!/bin/sh
# SLURM's TaskProlog (slurm.conf: TaskProlog=/etc/slurm/underfed_task_prolog.sh): records every PyTorch training that is
# started by srun, without a line changed. What it prints as `export NAME=value` is set for the task (slurm.conf(5)).
# It runs as the user, before each task. A user leaves it with UNDERFED_DISABLED=1, and UNDERFED_URL of the user's own counts.

# Where all nodes find the agent: python3 -m pip install --target /shared/underfed underfed
agent=${UNDERFED_AGENT:-/shared/underfed}
# The team's service, and a file with a token of the scope `ingest` that those may read who train (docs/access.md).
url=${UNDERFED_URL:-http://underfed.example.org:7077}
token_file=${UNDERFED_TOKEN_FILE:-/etc/slurm/underfed-token}

site=$agent/underfed/launcher/site
# A task must start whatever is wrong here.
[ -r "$site/sitecustomize.py" ] || exit 0
case ${UNDERFED_DISABLED:-} in '' | 0) ;; *) exit 0 ;; esac

echo "export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}"
echo "export UNDERFED_AUTOLOAD=1"
echo "export UNDERFED_URL=$url"
if [ -z "${UNDERFED_TOKEN:-}" ] && [ -r "$token_file" ]; then
  echo "export UNDERFED_TOKEN=$(cat "$token_file")"
fi
# The account is whose budget the time is from.
[ -n "${UNDERFED_PROJECT:-}" ] || [ -z "${SLURM_JOB_ACCOUNT:-}" ] || echo "export UNDERFED_PROJECT=$SLURM_JOB_ACCOUNT"
[ -n "${UNDERFED_NAME:-}" ] || [ -z "${SLURM_JOB_NAME:-}" ] || echo "export UNDERFED_NAME=$SLURM_JOB_NAME"
exit 0
