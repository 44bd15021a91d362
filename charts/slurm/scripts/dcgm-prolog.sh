#!/bin/sh
# Before a job, on each of its workers: writes the job's number into a file for each of its GPUs, named by the GPU's index;
# dcgm-exporter adds it to that GPU's metrics. It never fails: that would take the worker out of service.
directory=/var/lib/dcgm-exporter/job-mapping
[ -n "$SLURM_JOB_ID" ] && [ -n "$SLURM_JOB_GPUS" ] || exit 0
umask 022
mkdir -p "$directory"
for gpu in $(echo "$SLURM_JOB_GPUS" | tr , ' '); do
  echo "$SLURM_JOB_ID" > "$directory/$gpu"
done
exit 0
