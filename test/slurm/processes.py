"""Child processes of a PID 1: started, awaited with a deadline, and strangers reaped."""
import os
import signal
import threading
import time

from patience import patient


class Failed(Exception):
    """One sentence for the person who started the program."""


class Processes:
    """Starts programs and reaps every child, own or inherited. Any thread may call any method."""

    def __init__(self):
        self._changed = threading.Condition()
        self._status = {}          # pid -> exit status; negative: the signal
        self._own = set()
        threading.Thread(target=self._reap, daemon=True).start()

    def spawn(self, argv, log=None, env=None, stdin=None):
        """Starts argv; stdout and stderr are appended to the file `log`, or inherited without one."""
        actions = []
        if stdin is None:
            actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
        if log:
            actions.append((os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644))
            actions.append((os.POSIX_SPAWN_DUP2, 1, 2))
        with self._changed:
            try:
                # A thread of ours blocks no signals, but the caller's mask would be inherited otherwise.
                pid = os.posix_spawnp(argv[0], argv, os.environ if env is None else env,
                                      file_actions=actions, setsigmask=[])
            except OSError as error:
                raise Failed(f"cannot start {argv[0]}: {error.strerror}") from error
            self._own.add(pid)
            self._changed.notify_all()
        return pid

    def poll(self, pid):
        """The exit status, or None while it runs."""
        with self._changed:
            return self._status.get(pid)

    def wait(self, pid, seconds=None):
        """The exit status, or None when the time is over first."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while pid not in self._status:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._changed.wait(left)
            return self._status[pid]

    def run(self, argv, seconds=30, log=None, env=None):
        """Runs argv to its end and returns its status."""
        pid = self.spawn(argv, log=log, env=env)
        status = self.wait(pid, patient(seconds))
        if status is None:
            os.kill(pid, signal.SIGKILL)
            raise Failed(f"{' '.join(argv)} did not end in {seconds} s")
        return status

    def must(self, *argv):
        if self.run(list(argv)) != 0:
            raise Failed(f"{' '.join(argv)} failed")

    def end(self, pid, signal_number=signal.SIGTERM, seconds=20):
        """Signals a process of ours and waits for its end, by force when the time is over."""
        for number, patience in ((signal_number, seconds), (signal.SIGKILL, 5)):
            with self._changed:
                if pid in self._status:
                    return self._status[pid]
                os.kill(pid, number)
            status = self.wait(pid, patience)
            if status is not None:
                return status
        raise Failed(f"process {pid} survives SIGKILL")

    def _reap(self):
        while True:
            with self._changed:
                while not self._own - self._status.keys():
                    self._changed.wait()
            pid, status = os.waitpid(-1, 0)
            with self._changed:
                if pid in self._own:
                    self._status[pid] = os.waitstatus_to_exitcode(status)
                    self._changed.notify_all()
