#!/bin/sh
# For slurm.conf: HealthCheckProgram=/etc/slurm/healthcheck.sh, HealthCheckInterval=900, HealthCheckNodeState=IDLE. Slurm ignores the
# exit status of this program, so it drains the node itself; Slurm kills it after 60 s. A suspect is checked again after
# HealthCheckInterval. The program also measures sessions: --learn does nothing if the last session is less than an hour old, if there
# are 50, or if the host is a suspect. Measure the first session by hand, because it may build the programs, which takes longer than 60 s.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin  # Slurm sets none
IMB=${IMB:-/opt/openimb/bin/imb}
FILE=${IMB_HEALTH:-/var/lib/openimb/health.json}
NODE=${SLURMD_NODENAME:-$(hostname -s)}

verdict=$("$IMB" health --within 10 --file "$FILE" 2>&1)
status=$?
case $status$verdict in
1bad:*) exec scontrol update nodename="$NODE" state=drain reason="imb health: ${verdict%%;*}" ;;
esac
exec "$IMB" health --learn --file "$FILE"
