"""An update of a NodeSet's workers, as one sees it from outside."""
import contextlib
import json
import threading

from lab import NODESET


def revisions(lab):
    """By pod, what it was made from."""
    return {name: pod["metadata"]["labels"]["controller.kubernetes.io/hash"] for name, pod in lab.worker_pods().items()}


def patch(lab, spec):
    lab.kubectl("patch", "nodesets", NODESET, "--type=merge", "-p", json.dumps({"spec": spec}))


def set_note(lab, text):
    """Changes the template."""
    patch(lab, {"template": {"metadata": {"annotations": {"example.com/note": text}}}})


def renewed(lab, before):
    """Whether all workers of `before`, what revisions() said then, are of one template that none of them had."""
    now = revisions(lab)
    return now.keys() == before.keys() and len(set(now.values())) == 1 and not set(now.values()) & set(before.values())


def out_of_service(lab, workers=3):
    """Workers that are missing, not ready or drained, with what Slurm says of each; None when it does not answer."""
    records = lab.records()
    if records is None:
        return None
    ready = {name.removeprefix("slurm-worker-") for name in lab.ready_workers()}
    states = {f"slinky-{i}": records.get(f"slinky-{i}", ("gone",))[0] for i in range(workers)}
    return {name: state for name, state in states.items()
            if name not in ready or not state.startswith(("idle", "mix", "alloc", "comp", "plan"))}


class Budget:
    """Looks again and again who is out of service. Slurm and Kubernetes are not read at one moment: who is out in two looks
    after another was so in between."""

    def __init__(self, lab, workers):
        self.lab, self.workers = lab, workers
        self.looks, self.most, self.seen, self.failed = 0, set(), set(), None
        self._ended = threading.Event()

    def _look(self):
        last = {}
        while not self._ended.is_set():
            try:
                out = out_of_service(self.lab, self.workers)
            except Exception as error:  # it is told where it is waited for
                self.failed = error
                return
            if out is not None:
                self.looks += 1
                self.most = max(self.most, last.keys() & out.keys(), key=len)
                self.seen.update(out)
            last = out or {}

    @contextlib.contextmanager
    def sampled(self):
        looking = threading.Thread(target=self._look)
        looking.start()
        try:
            yield self
        finally:
            self._ended.set()
            looking.join()
        assert not self.failed, self.failed
        assert self.looks > 10, "nobody looked"
