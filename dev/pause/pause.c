// pause: holds namespaces open and reaps what is left behind in them.
//
// It is the first process of every pod's sandbox and of every process tree of
// the local cluster. It ends on SIGTERM or SIGINT with 0. As process 1 of a PID
// namespace it inherits orphans, and SIGCHLD set to "ignore" makes the kernel
// reap them without its help.

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void End(int signal_number) {
  (void)signal_number;
  _exit(0);
}

static int Handle(int signal_number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  return sigaction(signal_number, &action, NULL);
}

int main(void) {
  if (Handle(SIGTERM, End, 0) != 0 || Handle(SIGINT, End, 0) != 0 ||
      Handle(SIGCHLD, SIG_DFL, SA_NOCLDWAIT) != 0) {
    static const char message[] = "pause: cannot set a signal handler\n";
    return write(STDERR_FILENO, message, sizeof message - 1) < 0 ? 2 : 1;
  }
  for (;;) pause();
}
