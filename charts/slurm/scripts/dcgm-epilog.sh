#!/bin/sh
# After a job: removes the files that hold its number. They are found by what is in them, so that another job's file stays.
# It never fails: that would take the worker out of service.
directory=/var/lib/dcgm-exporter/job-mapping
[ -n "$SLURM_JOB_ID" ] || exit 0
for file in "$directory"/*; do
  ! grep -qx "$SLURM_JOB_ID" "$file" 2> /dev/null || rm -f "$file"
done
exit 0
