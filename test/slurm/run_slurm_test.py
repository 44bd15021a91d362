"""What run-slurm promises to the tests that stand on it."""
import os
import subprocess

from patience import patient

HERE = os.path.dirname(os.path.realpath(__file__))
RUN_SLURM = HERE + "/run-slurm"

# Signs a token as Slurm's auth/jwt wants it, and asks slurmrestd for `path`.
ASK = r'''
ask() { python3 - "$1" <<'PY'
import base64, hashlib, hmac, json, os, sys, time, urllib.request
enc = lambda b: base64.urlsafe_b64encode(b).rstrip(b"=")
claims = {"iat": int(time.time()), "exp": int(time.time()) + 60, "sun": "slurm"}
text = enc(b'{"alg":"HS256","typ":"JWT"}') + b"." + enc(json.dumps(claims).encode())
key = open(os.environ["SLURM_JWT_KEY_FILE"], "rb").read()
token = (text + b"." + enc(hmac.new(key, text, hashlib.sha256).digest())).decode()
request = urllib.request.Request(os.environ["SLURMRESTD_URL"] + sys.argv[1], headers={"X-SLURM-USER-TOKEN": token})
print(urllib.request.urlopen(request, timeout=5).read().decode())
PY
}
'''


def inside(script, *options, check=True, seconds=60):
    """The output of a shell script run inside run-slurm."""
    result = subprocess.run([RUN_SLURM, *options, "--", "bash", "-euc", ASK + script], text=True, timeout=patient(seconds),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if check:
        assert result.returncode == 0, result.stdout
    return result if not check else result.stdout


def test_runs_a_step_on_every_node():
    assert sorted(inside("$SLURM_EXEC srun -N2 hostname").split()) == ["w-0", "w-1"]


def test_runs_a_batch_job_of_a_plain_user_and_keeps_its_output():
    assert inside("""
        $SLURM_EXEC setpriv --reuid ann --regid ann --clear-groups sbatch -w w-0 -o /shared/out --wrap 'id -u; hostname' >&2
        until [ -z "$($SLURM_EXEC squeue -h)" ]; do :; done
        cat $SLURM_SHARED/out""").split()[-2:] == ["1000", "w-0"]


def test_slurmrestd_accepts_a_token_signed_with_the_key():
    output = inside("ask /slurm/v0.0.44/nodes/")
    assert '"w-0"' in output and '"w-1"' in output


def test_starts_as_many_nodes_as_asked_with_their_items():
    output = inside("$SLURM_EXEC sinfo -h -N -o '%N %w'", "--nodes", "3", "--node-conf", "Weight=7")
    assert sorted(output.splitlines()) == ["w-0 7", "w-1 7", "w-2 7"]


def test_a_killed_slurmrestd_is_down_until_it_is_started():
    output = inside("""
        $SLURM_CONTROL kill slurmrestd
        ask /slurm/v0.0.44/ping/ 2>&1 | tail -1
        $SLURM_CONTROL start slurmrestd
        until ask /slurm/v0.0.44/ping/ > answer 2> /dev/null; do :; done; grep -c pinged answer; rm answer""")
    assert "Connection refused" in output and output.splitlines()[-1] == "1"


def test_jobs_outlive_a_restart_of_slurmctld():
    assert "RUNNING" in inside("""
        $SLURM_EXEC sbatch --wrap 'sleep 60'
        until $SLURM_EXEC squeue -h -o %T | grep -q RUNNING; do :; done
        $SLURM_CONTROL restart slurmctld
        until $SLURM_EXEC squeue -h -o %T 2> /dev/null; do :; done""")


def test_a_written_slurm_conf_is_taken_up():
    assert "PartitionName=extra" in inside("""
        echo 'PartitionName=extra Nodes=ALL State=UP' >> $SLURM_CONF_FILE
        $SLURM_CONTROL reconfigure
        $SLURM_EXEC scontrol show partition extra""")


def test_no_machine_has_a_route_out():
    output = inside("""
        for machine in ctl $SLURM_NODES; do
          pid=$($SLURM_CONTROL pid ${machine/ctl/slurmctld})
          for address in 198.51.100.1 2001:db8::1; do
            nsenter -t $pid -n ip route get $address > /dev/null 2>&1 || echo $machine: unreachable
          done
        done""")
    assert output.splitlines() == [f"{name}: unreachable" for name in ("ctl", "w-0", "w-1") for _ in range(2)]


def test_passes_on_the_commands_status():
    assert inside("exit 7", check=False).returncode == 7


def test_says_why_slurm_does_not_come_up():
    result = inside("true", "--conf", "PartitionName=p Nodes=nonesuch", check=False)
    assert result.returncode == 3
    assert "slurmctld ended with status 1" in result.stdout and "nonesuch" in result.stdout


def test_nothing_survives_a_killed_harness(tmp_path):
    harness = subprocess.Popen([RUN_SLURM, "--dir", str(tmp_path)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for line in harness.stdout:
        if line.startswith("READY"):
            break
    mine = [entry for entry in processes_below(harness.pid)]
    assert len(mine) > 6
    pidfds = [os.pidfd_open(pid) for pid in mine]
    harness.kill()
    harness.wait()
    for pidfd in pidfds:
        assert wait_for_end(pidfd)


def processes_below(root):
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def wait_for_end(pidfd):
    import select
    return bool(select.select([pidfd], [], [], 10)[0])
