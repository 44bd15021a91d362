"""capstan-entry with the real daemons: what must survive a reconfigure, a bad configuration, a crash."""
import json
import os
import re
import shlex
import subprocess

import pytest
from patience import patient

HERE = os.path.dirname(os.path.realpath(__file__))
ENTRY = os.path.join(HERE, "../../build/release/bin/capstan-entry")

PRELUDE = r'''
until_() { for _ in $(seq $((600 * ${CAPSTAN_PATIENCE:-1}))); do "$@" > /dev/null 2>&1 && return; sleep 0.05; done; echo "never: $*"; exit 1; }
child() { pgrep -P $($SLURM_CONTROL pid $1) -f "sbin/slurm"; }
state() { $SLURM_EXEC squeue -h -t all -o %T; }
is() { [ "$(eval "$1")" = "$2" ]; }
'''


def inside(script, *options):
    """The output of a shell script inside run-slurm, whose daemons run through capstan-entry."""
    result = subprocess.run([HERE + "/run-slurm", "--entry", ENTRY, *options, "--", "bash", "-euc", PRELUDE + script],
                            text=True, timeout=patient(180), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, result.stdout
    return result.stdout


def test_jobs_outlive_a_reconfigure_of_all_daemons():
    output = inside("""
        $SLURM_EXEC sbatch -o /shared/out --wrap 'until [ -e /shared/go ]; do sleep 0.1; done; echo done'
        until_ is state RUNNING
        before="$(child slurmctld) $(child w-0) $(child w-1)"
        $SLURM_EXEC scontrol reconfigure
        for daemon in slurmctld w-0 w-1; do
          old=${before%% *}; before=${before#* }
          until_ eval "[ $(child $daemon) != $old ]"
          until_ eval "! kill -0 $old"
          echo $daemon changed
        done
        touch $SLURM_SHARED/go
        until_ is state COMPLETED
        cat $SLURM_SHARED/out
        $SLURM_CONTROL stop slurmctld
        pgrep slurmctld || echo none left""")
    assert output.splitlines()[-5:] == ["slurmctld changed", "w-0 changed", "w-1 changed", "done", "none left"]


def test_a_bad_configuration_does_not_take_slurmctld_down():
    output = inside("""
        before=$(child slurmctld)
        cp $SLURM_CONF_FILE good
        echo 'PartitionName=p Nodes=nonesuch' >> $SLURM_CONF_FILE
        $SLURM_EXEC scontrol reconfigure || echo refused
        cat good > $SLURM_CONF_FILE; rm good
        until_ $SLURM_EXEC scontrol ping
        [ $(child slurmctld) = $before ] && echo same process
        $SLURM_EXEC scontrol reconfigure && echo accepted""")
    assert [line for line in output.splitlines() if line in ("refused", "same process", "accepted")] == [
        "refused", "same process", "accepted"]


def test_a_job_outlives_a_crash_of_slurmd():
    output = inside("""
        $SLURM_EXEC sbatch -w w-0 -o /shared/out --wrap 'until [ -e /shared/go ]; do sleep 0.1; done; echo done'
        until_ is state RUNNING
        before=$(child w-0)
        until_ pgrep slurmstepd
        kill -9 $before
        until_ child w-0
        touch $SLURM_SHARED/go
        until_ is state COMPLETED
        cat $SLURM_SHARED/out""", "--nodes", "1")
    assert "done" in output.splitlines()  # slurmstepd says there, too, that it does not reach slurmd yet


def test_slurm_gives_jobs_only_the_pods_share():
    output = inside("$SLURM_EXEC scontrol show node w-0", "--nodes", "1", "--node-env", "POD_CPUS=1",
                    "--node-env", "POD_MEMORY=1000")
    words = output.split()
    cores = next(word for word in words if word.startswith("CPUTot=")).split("=")[1]
    assert f"CoreSpecCount={int(cores) - 1}" in words
    total = int(next(word for word in words if word.startswith("RealMemory=")).split("=")[1])
    assert f"MemSpecLimit={total - 1000}" in words


def test_slurmd_registers_by_the_name_of_its_pod_and_tells_of_its_steps():
    output = inside("""
        told() { python3 -c 'import urllib.request; print(urllib.request.urlopen("http://w-0:6816/slurmd", timeout=5).read().decode())'; }
        $SLURM_EXEC sinfo -h -N -o %N
        told
        $SLURM_EXEC sbatch -o /shared/out --wrap 'until [ -e /shared/go ]; do sleep 0.1; done'
        until_ is state RUNNING
        until_ eval "told | grep true"
        echo has steps
        touch $SLURM_SHARED/go
        until_ is state COMPLETED
        until_ eval "told | grep false"
        echo has none""", "--nodes", "1", "--node-env", "CAPSTAN_NODE_NAME=w-0", "--node-env", "SLURMD_OPTIONS=-N node1")
    lines = output.splitlines()
    assert "w-0" in lines and "node1" not in lines and '{"node": "w-0", "steps": false}' in lines
    assert lines[-2:] == ["has steps", "has none"]


CHANGES = r'''
answer() { python3 -c 'import urllib.request; print(urllib.request.urlopen("http://192.0.2.1:6815/configuration", timeout=5).read().decode())'; }
told() { answer | python3 -c "import json, sys; a = json.load(sys.stdin); print($1)"; }
put() { cat > ${SLURM_CONF_FILE%/*}/.new; mv ${SLURM_CONF_FILE%/*}/.new $SLURM_CONF_FILE; }  # all at once, as a kubelet does
mounted() { sha256sum < $SLURM_CONF_FILE | cut -d " " -f 1; }
is_live() { [ "$(told "a['files']['slurm.conf']")" = "$(mounted)" ]; }
good="$(cat $SLURM_CONF_FILE)"
entry=$($SLURM_CONTROL pid slurmctld)
'''


@pytest.mark.long
def test_twenty_changes_are_live_without_a_restart():
    output = inside(CHANGES + r"""
        $SLURM_EXEC sbatch -o /shared/out --wrap 'until [ -e /shared/go ]; do sleep 0.1; done; echo done'
        until_ is state RUNNING
        for i in $(seq 20); do
          printf '%s\nPartitionName=p%s Nodes=ALL\n' "$good" $i | put
          until_ is_live
          $SLURM_EXEC scontrol show partition p$i | grep -q State=UP
        done
        told "a['reconfigures']"
        [ $($SLURM_CONTROL pid slurmctld) = $entry ] && echo same entry
        touch $SLURM_SHARED/go
        until_ is state COMPLETED
        cat $SLURM_SHARED/out""")
    assert output.splitlines()[-3:] == ["20", "same entry", "done"], output


def test_changes_at_once_are_one():
    output = inside(CHANGES + r"""
        kill -STOP $entry # so that it sees them together, however slow this machine is
        for i in 1 2 3 4 5; do printf '%s\nPartitionName=p%s Nodes=ALL\n' "$good" $i | put; done
        kill -CONT $entry
        until_ is_live
        told "a['reconfigures']"
        kill -STOP $entry
        printf '%s\n# nothing\n' "$good" | put; printf '%s\nPartitionName=p5 Nodes=ALL\n' "$good" | put
        kill -CONT $entry
        sleep 3
        told "a['reconfigures']" """)
    assert output.splitlines()[-2:] == ["1", "1"], output


# With the text that is refused, scontrol would not even run; or wait for a missing file for a minute, as slurmctld would.
def test_a_text_that_slurm_refuses_changes_nothing():
    output = inside(CHANGES + r"""
        for bad in 'Nonsense=1' 'Include nonesuch.conf' 'PartitionName=p Nodes=nonesuch'; do
          before=$(child slurmctld)
          printf '%s\n%s\n' "$good" "$bad" | put
          until_ told "a['refused']['message']"
          echo "$bad: $(told "a['refused']['message']")"
          [ $(child slurmctld) = $before ] && echo same process
          echo "$good" | put
          until_ is "told \"'refused' in a\"" False
        done
        printf '%s\nPartitionName=p Nodes=ALL\n' "$good" | put
        until_ is_live
        told "a['reconfigures']" """)
    lines = output.splitlines()
    assert any(line.startswith("Nonsense=1: Slurm cannot read it: ") and "Nonsense" in line[11:] for line in lines), output
    assert any(line.startswith("Include nonesuch.conf: Slurm cannot read it: ") for line in lines), output
    assert any(line.startswith("PartitionName=p Nodes=nonesuch: slurmctld refuses it") for line in lines), output
    assert lines.count("same process") == 3, output
    assert lines[-1] == "1", output


STARTS = CHANGES + r"""
state=$SLURM_ROOT/var/spool/slurmctld
kept() { $SLURM_EXEC env SLURM_CONF=/tmp/capstan-401/kept/slurm.conf "$@"; }  # what is mounted no command can read
runs() { is "told \"a.get('runs', True)\"" True; }
has_kept() { grep -q "$1" $state/capstan-kept; }
probe() { python3 -c 'import http.client, sys; c = http.client.HTTPConnection("192.0.2.1", 6817, timeout=5); c.request("GET", sys.argv[1]); print(c.getresponse().status)' $1; }
"""


# The container ended with slurmctld, again and again, and slurmctld was away until somebody mended the text.
def test_slurmctld_starts_with_what_ran_when_what_is_mounted_is_bad():
    output = inside(STARTS + r"""
        until_ has_kept ClusterName
        stat -c 'kept for %u alone: %a' $state/capstan-kept
        for bad in 'Nonsense=1' 'PartitionName=p Nodes=nonesuch' 'Include nonesuch.conf'; do
          printf '%s\n%s\n' "$good" "$bad" | put
          $SLURM_CONTROL restart slurmctld
          until_ told "a['refused']['message']"
          until_ runs
          kept sinfo -h -o %P
          echo "$bad: $(told "a['refused']['message']")"
          before=$(child slurmctld)
          echo "$good" | put
          until_ is "told \"'refused' in a\"" False
          until_ is_live
          [ $(child slurmctld) = $before ] && echo same process
          until_ eval '! has_kept PartitionName=p'
        done
        printf '%s\nNonsense=1\n' "$good" | put
        $SLURM_CONTROL restart slurmctld
        until_ told "a['refused']['message']"
        until_ runs
        printf '%s\nPartitionName=mended Nodes=ALL\n' "$good" | put
        until_ is_live
        until_ has_kept mended
        $SLURM_EXEC sinfo -h -o %P """, "--nodes", "1")
    lines = output.splitlines()
    since = r"; it was started with the one that is live since 20\d\d-\S+Z$"
    for quote in (r"Nonsense=1: slurmctld does not start with it: error: .*unrecognized key: Nonsense; fatal: Unable to process "
                  r"configuration file" + since,
                  r"PartitionName=p Nodes=nonesuch: slurmctld does not start with it: error: .*nonesuch.*; fatal: Invalid node names "
                  r"in partition p" + since,
                  r"Include nonesuch.conf: slurmctld does not start with it: it includes nonesuch.conf, which is not there" + since):
        assert any(re.search(quote, line) for line in lines), output
    assert "kept for 401 alone: 600" in lines and lines.count("all*") == 4 and lines.count("same process") == 2, output
    assert lines[-1] == "mended", output


def test_a_job_in_a_new_partition_outlives_a_bad_text_and_a_restart():
    output = inside(STARTS + r"""
        until_ has_kept ClusterName
        cp -p $state/capstan-kept $state/older
        printf '%s\nPartitionName=new Nodes=ALL\n' "$good" | put
        until_ is_live
        until_ has_kept new
        $SLURM_EXEC sbatch -p new -o /shared/out --wrap 'until [ -e /shared/go ]; do sleep 0.1; done; echo done'
        until_ is state RUNNING
        printf '%s\nPartitionName=new Nodes=ALL\nNonsense=1\n' "$good" | put
        $SLURM_CONTROL restart slurmctld
        until_ runs
        kept squeue -h -o '%T in %P'
        $SLURM_CONTROL stop slurmctld
        mv $state/older $state/capstan-kept  # as if the newer one could not be written
        $SLURM_CONTROL start slurmctld
        until_ runs
        kept squeue -h -o '%T still in %P'
        kept scontrol show partition new | grep -o State=DRAIN
        touch $SLURM_SHARED/go
        until_ is "kept squeue -h -t all -o %T" COMPLETED
        cat $SLURM_SHARED/out""", "--nodes", "1")
    assert output.splitlines()[-4:] == ["RUNNING in new", "RUNNING still in new", "State=DRAIN", "done"], output


# A new cluster with a bad text was killed by its startup probe each minute, and restarted ever later.
def test_a_new_cluster_waits_for_its_text_to_be_mended():
    output = inside(STARTS + r"""
        $SLURM_CONTROL stop slurmctld
        rm -rf $state/*
        printf '%s\nNonsense=1\n' "$good" | put
        $SLURM_CONTROL start slurmctld
        until_ told "a['refused']['message']"
        told "a['refused']['message']"
        told "a['runs']"
        until_ probe /livez
        echo "alive: $(probe /livez), ready: $(probe /readyz)"
        entry=$($SLURM_CONTROL pid slurmctld)
        printf '%s\nPartitionName=mended Nodes=ALL\n' "$good" | put
        until_ is_live
        [ $($SLURM_CONTROL pid slurmctld) = $entry ] && echo same entry
        $SLURM_EXEC sinfo -h -o %P | tail -1
        until_ has_kept mended
        $SLURM_CONTROL stop slurmctld""", "--nodes", "1")
    lines = output.splitlines()
    assert re.search(r"^slurmctld does not start with it: error: .*Nonsense; fatal: .* \(there is none that ran before\)$", output,
                     re.M), output
    assert lines[-4:] == ["False", "alive: 200, ready: 503", "same entry", "mended"], output


def test_slurmrestd_is_ready_while_slurmctld_is():
    """The probe of the Deployment, as unit tests pin it, on the machine of slurmctld and by its slurm.conf."""
    pinned = os.path.join(HERE, "../../src/operator/restapi/testdata/default-Deployment.json")
    with open(pinned) as file:
        container = json.load(file)["spec"]["template"]["spec"]["containers"][0]
    probe = " ".join(map(shlex.quote, container["readinessProbe"]["exec"]["command"]))
    log = "$(dirname $SLURM_SHARED)/log/slurmctld.log"
    output = inside(f"""
        probe() {{ $SLURM_EXEC timeout 5 {probe}; }}
        is_not() {{ ! probe; }}
        before=$(wc -l < {log})
        probe && echo ready
        [ $(wc -l < {log}) = $before ] && echo nothing logged
        kill -STOP $(child slurmctld)
        probe || echo not while it hangs
        kill -CONT $(child slurmctld)
        until_ probe
        $SLURM_CONTROL stop slurmctld
        probe || echo not while it is away
        $SLURM_CONTROL start slurmctld
        until_ probe; echo ready again
        $SLURM_EXEC sed -i 's/^SlurmctldHost=.*/SlurmctldHost=gone(192.0.2.99)\\n&/' /etc/slurm/slurm.conf
        probe && echo one of two""", "--nodes", "1")
    lines = [line for line in output.splitlines() if not line.startswith("no slurmctld is ready: ")]
    assert lines == ["ready", "nothing logged", "not while it hangs", "not while it is away", "ready again", "one of two"]
    assert "no slurmctld is ready: 192.0.2.1" in output
