#!/bin/sh
# Slurm: HealthCheckProgram=/etc/slurm/healthcheck.sh, HealthCheckInterval=900, HealthCheckNodeState=IDLE. Slurm ignores its status and
# kills it after 60 s, so it drains the node itself. A suspect is checked again after HealthCheckInterval. Sessions are measured
# here, too: --learn does nothing if the last one is less than an hour old, if there are 50, or if the host is a suspect.
# Measure the first one by hand: it may build the programs, which takes longer than 60 s.
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
