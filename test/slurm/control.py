"""$SLURM_CONTROL: sends its arguments as one line to run-slurm and prints the answer. Status 1 for an error."""
import socket
import sys

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    connection.sendall((" ".join(sys.argv[2:]) + "\n").encode())
    answer = connection.makefile().readline().strip()
word, _, rest = answer.partition(" ")
if rest:
    print(rest, file=sys.stdout if word == "ok" else sys.stderr)
sys.exit(0 if word == "ok" else 1)
