"""What has been measured: build/bench.json, and a table."""
import json
import pathlib
import statistics

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "bench.json"


class CannotMeasure(Exception):
    """Something that a group needs is not to be had here; the text says what."""


class Figures:
    def __init__(self):
        self.entries = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        self.measured = []

    def add(self, key, runs, unit, asked, group, peer=None):
        """The median of `runs`. `peer` is what the Go program or operator needed for the same, in the same unit."""
        self.entries[key] = {"value": tidy(statistics.median(runs)), "unit": unit, "asked": asked,
                             "runs": [tidy(run) for run in runs], "command": f"make bench ONLY={group}", "peer": peer}
        self.measured.append(key)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(self.entries, indent=2, sort_keys=True) + "\n")

    def add_both(self, key, runs, go_runs, unit, asked, group):
        self.add(key, runs, unit, asked, group, peer=tidy(statistics.median(go_runs)))

    def add_ratio(self, key, runs, go_runs, asked, group):
        """Ours to the Go program's, round by round: the two of a round ran right after each other."""
        self.add(key, [ours / go for ours, go in zip(runs, go_runs)], "", asked, group)

    def table(self):
        rows = [("key", "measured", "asked", "Go peer", "runs")]
        for key in self.measured:
            entry = self.entries[key]
            peer = "-" if entry["peer"] is None else str(entry["peer"])
            rows.append((key, f"{entry['value']} {entry['unit']}", entry["asked"], peer, str(entry["runs"])))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def tidy(value):
    return round(value, 3 if value < 10 else 1)
