#!/usr/bin/env python3
"""Writes docs/fast-paths.md from measurements.

Usage: fast_paths.py [--parameters RUN.json]... RUN.json... > docs/fast-paths.md

RUN.json: results of `rafter bench SUITES --mb 1 [--vs onednn] --layout L --json RUN.json`; cases of all files are
put into classes by their descriptor and summed up per layout. --parameters: a run of @parameters, compared within
each choice. Every figure comes from the files; nothing is measured here.
"""

import argparse
import json
import math
import re
import sys

FIELD = re.compile(r"(mb|ic|oc|id|ih|iw|od|oh|ow|kd|kh|kw|sd|sh|sw|pd|ph|pw|dd|dh|dw|g)(\d+)")
CLASSES = ["3×3 stride 1, dense", "other dense", "first layer (at most 4 input channels)",
           "1×1, at least 16 output channels", "1×1, fewer output channels", "fewer than 16 output channels",
           "grouped, 2 to 8 channels per group", "grouped, more channels per group", "dilated", "1-D", "depthwise",
           "depthwise with a multiplier"]


def problem(descriptor):
    """The descriptor's fields with the defaults that the classes need."""
    p = {name: int(value) for name, value in FIELD.findall(descriptor.split("n\"")[0])}
    g = p.setdefault("g", 1)
    for h, w in (("ih", "iw"), ("kh", "kw"), ("sh", "sw"), ("dh", "dw")):
        if h in p and w not in p:
            p[w] = p[h]
        elif w in p and h not in p:
            p[h] = 1 if h in ("ih", "kh") else 0 if h == "dh" else p[w]
        p.setdefault(h, 0 if h == "dh" else 1)
        p.setdefault(w, 0 if w == "dw" else 1)
    p["one_dimensional"] = p["ih"] == 1 or p["iw"] == 1 and p["kh"] > 1
    p["ic_g"], p["oc_g"] = p["ic"] // g, p["oc"] // g
    return p


def class_of(p):
    """The name of the class; depthwise first, then what is rarest."""
    if p["g"] > 1 and p["ic_g"] == 1:
        return CLASSES[10] if p["oc_g"] == 1 else CLASSES[11]
    if p["g"] > 1:
        return CLASSES[6] if p["ic_g"] <= 8 and p["oc_g"] <= 8 else CLASSES[7]
    if p["kh"] == p["kw"] == 1:
        return CLASSES[3] if p["oc"] >= 16 else CLASSES[4]
    if p["one_dimensional"]:
        return CLASSES[9]
    if p["dh"] > 0 or p["dw"] > 0:
        return CLASSES[8]
    if p["oc"] < 16:
        return CLASSES[5]
    if p["ic"] <= 4:
        return CLASSES[2]
    if p["kh"] == p["kw"] == 3 and p["sh"] == p["sw"] == 1:
        return CLASSES[0]
    return CLASSES[1]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def speedup(case, column):
    return (case.get(column) or {}).get("speedup")


def measured(run):
    return [c for c in run["cases"] if "time_us" in c]


def class_row(name, layout, threads, cases):
    """One row of the table of classes, or None."""
    timed = [c for c in cases if c["bound_us"] >= 1]
    if not timed:
        return None
    efficiencies = sorted(c["efficiency"] for c in timed)
    row = [name, layout, str(threads), str(len(timed)), f"{100 * geomean(efficiencies):.0f} %",
           f"{100 * efficiencies[len(efficiencies) // 10]:.0f} %", f"{100 * efficiencies[0]:.0f} %"]
    for column in ("vs_same", "vs_best"):
        ratios = [speedup(c, column) for c in timed if speedup(c, column)]
        row.append(f"{geomean(ratios):.2f}× ({min(ratios):.2f}×)" if ratios else "–")
    return row


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i == 0 else "--:" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def class_table(runs):
    groups = {}
    for run in runs:
        for case in measured(run):
            key = (class_of(problem(case["descriptor"])), case["layout"], case["threads"])
            groups.setdefault(key, []).append(case)
    order = sorted(groups, key=lambda k: (CLASSES.index(k[0]), k[1], k[2]))
    rows = [class_row(*key, groups[key]) for key in order]
    return table(["class", "layout", "threads", "shapes", "% of bound (geomean)", "10th percentile", "lowest",
                  "against oneDNN, same layout (lowest)", "its best layout (lowest)"], [r for r in rows if r])


def parameter_table(runs):
    choices = {}
    for run in runs:
        for case in measured(run):
            match = re.match(r"parameters:(.*)=(\S+)$", case["name"])
            if match:
                choices.setdefault((match[1].replace("_", " "), case["layout"]), []).append((match[2], case))
    rows = []
    for (choice, layout), values in sorted(choices.items()):
        base = values[0][1]
        for value, case in values:
            time = case["time_us"]["median"]
            relative = time / base["time_us"]["median"]
            per_flop = relative * base["flops_valid"] / case["flops_valid"]
            rows.append([choice, value, layout, f"{time:.1f}", f"{relative:.2f}", f"{per_flop:.2f}",
                         f"{100 * case['efficiency']:.0f} %", case["kernel"]])
    return table(["choice", "value", "layout", "time, µs", "time, relative", "time per FLOP, relative", "% of bound",
                  "kernel"], rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--parameters", action="append", default=[])
    parser.add_argument("runs", nargs="*")
    options = parser.parse_args()
    runs = [json.load(open(path, encoding="utf-8")) for path in options.runs]
    parameters = [json.load(open(path, encoding="utf-8")) for path in options.parameters]
    if not runs + parameters:
        parser.error("no run given")
    environment = (runs + parameters)[0]["environment"]
    cpu = environment["cpu"]
    print(f"""# Fast paths

Written by `tools/fast_paths.py` from runs of `rafter bench`; do not edit. Machine: {cpu["model_name"]}
(family {cpu["family"]}, model {cpu["model"]}), {cpu["isa_effective"]}, {environment["date"][:10]}.
The bound of a shape is the slower of FLOPs at the measured FMA peak and bytes at the measured bandwidth
([measuring.md](measuring.md)); another machine has other figures. Layers that run by Winograd's algorithm are
measured by the bound of its own work. With `--budget` a part of the shapes is measured. How to repeat it:

```
rafter bench @all --mb 1 --vs onednn --layout nhwc --json nhwc.json
rafter bench @all --mb 1 --vs onednn --layout nchw --json nchw.json
rafter bench @parameters --layout nhwc --json parameters.json
tools/fast_paths.py --parameters parameters.json nhwc.json nchw.json > docs/fast-paths.md
```
""")
    if runs:
        print("## Classes of shapes\n\nShapes whose bound is at least 1 µs.\n")
        print(class_table(runs) + "\n")
    if parameters:
        print("## What a parameter costs\n\nRelative to the first value of each choice.\n")
        print(parameter_table(parameters))
    return 0


if __name__ == "__main__":
    sys.exit(main())
