#!/bin/sh
# For slurm.conf: Prolog=/etc/slurm/prolog.sh, PrologFlags=Alloc. Slurm runs it as root on each node before a job; an exit status other
# than 0 drains the node and requeues the job. Only the verdict `bad` causes this, never an error of the check.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin  # Slurm sets none
IMB=${IMB:-/opt/openimb/bin/imb}
FILE=${IMB_HEALTH:-/var/lib/openimb/health.json}

verdict=$("$IMB" health --within 5 --file "$FILE" 2>&1)
case $?$verdict in
1bad:*)
    logger -t imb-health "$verdict"
    exit 1
    ;;
esac
exit 0
