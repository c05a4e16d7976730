#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay plan` from the shell: an independent checker accepts its plans and proofs, and refuses wrong ones.
set -u
replay=$1
source=$3
. "$3/tests/shell.sh"
check() { python3 "$source/examples/plan/check_plan.py" "$1" "$2"; }

for trace in gpt-varlen-default 530-270 mlp-adam oom-fragmented; do
    expect_status 0 plan "$source/samples/$trace.trace.zst" -o plan.csv --json proof.json --effort 1
    check plan.csv proof.json >checked 2>&1 || fail "$trace: $(tail -1 checked)"
    awk 'length > 80 { exit 1 }' out || fail "$trace is wider than 80 columns: $(cat out)"
    python3 - <<'PY' || fail "$trace: the JSON contradicts itself"
import json
p = json.load(open("proof.json"))
assert p["schema"] == "replay-plan/1"
assert 0 < p["live_peak_bytes"] <= p["lower_bound_bytes"] <= p["plan_bytes"]
assert p["is_optimal"] == (p["lower_bound_bytes"] == p["plan_bytes"])
assert p["gap"] <= 0.05
PY
done

# They fit around each other at every moment, but not over all of time.
cat >odd.csv <<'CSV'
id,lower,upper,size
a,0,2,47
b,0,5,12
c,1,3,38
d,2,6,44
e,3,8,29
f,3,4,15
g,5,7,25
h,7,8,46
CSV
expect_status 0 plan odd.csv -o plan.csv --json proof.json
grep -q '"live_peak_bytes": 100' proof.json || fail "odd: $(cat proof.json)"
grep -q '"lower_bound_bytes": 102' proof.json || fail "odd: $(cat proof.json)"
check plan.csv proof.json >checked 2>&1 || fail "odd: $(tail -1 checked)"
grep -q '^a,0,2,47,' plan.csv || fail "odd: the plan has other times than its source: $(cat plan.csv)"


# An instance need not begin at 0.
awk -F, -v OFS=, 'NR > 1 { $2 += 7; $3 += 7 } 1' odd.csv >later.csv
expect_status 0 plan later.csv -o later-plan.csv
grep -q '^a,7,9,47,' later-plan.csv || fail "later: the plan has other times than its source: $(cat later-plan.csv)"
grep -q '^h,14,15,46,' later-plan.csv || fail "later: the plan has other times than its source: $(cat later-plan.csv)"

# A plan carries the ids of its instance, whatever their order and form, by way of a recording too.
cat >ids.csv <<'CSV'
lower,upper,size,id
3,9,4,100
0,5,8,7
1,4,0,empty
2,6,2,"a,b"
2,3,1,007
CSV
expect_status 0 plan ids.csv -o ids-plan.csv --json ids.json
[ "$(cut -d, -f1-2 ids-plan.csv | tr '\n' ' ')" = 'id,lower 7,0 "a,b" 007,2 100,3 ' ] ||
    fail "the plan has other ids than its instance: $(cat ids-plan.csv)"
grep -q '^"a,b",2,6,2,' ids-plan.csv || fail "an id is with another request: $(cat ids-plan.csv)"
check ids-plan.csv ids.json >checked 2>&1 || fail "ids: $(tail -1 checked)"
expect_status 0 import ids.csv -o ids.trace
expect_status 0 plan ids.trace -o ids-again.csv
cmp -s ids-plan.csv ids-again.csv || fail "a recording of the instance has other ids: $(cat ids-again.csv)"
printf 'lower,upper,size\n4,5,8\n0,3,8\n' >bare.csv
expect_status 0 plan bare.csv -o bare-plan.csv
grep -q '^1,0,3,8,' bare-plan.csv || fail "without ids it is the row: $(cat bare-plan.csv)"
printf 'id,lower,upper,size\na,0,3,8\na,4,5,8\n' >twice.csv
expect 2 "twice.csv.*line 3: id 'a' is that of an earlier line" plan twice.csv

# The same input gives the same plan, and a plan can be read again.
expect_status 0 plan odd.csv -o again.csv
cmp -s plan.csv again.csv || fail "a second plan differs"
expect_status 0 plan plan.csv --json -
grep -q '"plan_bytes": 102' out || fail "a plan cannot be planned again: $(cat out)"

# A replay makes an offline plan where it is asked for one, and only there.
expect 0 '"offline_plan_bytes": [1-9]' odd.csv --policy best-fit --plan --json -
expect_status 0 odd.csv --policy best-fit --json -
grep -q '"offline_plan_bytes": null' out || fail "a replay makes a plan that nobody asked for: $(cat out)"

# The checker refuses an overlap, another height and another bound.
sed 's/\(a,0,2,47\),.*/\1,1/' plan.csv >bad.csv
check bad.csv proof.json >checked 2>&1 && fail "the checker took an overlap"
for figure in plan_bytes lower_bound_bytes; do
    sed "s/\"$figure\": [0-9]*/\"$figure\": 103/" proof.json >bad.json
    check plan.csv bad.json >checked 2>&1 && fail "the checker took another $figure"
done

expect 0 'within the capacity' plan odd.csv --capacity 102
expect 2 '--align' plan odd.csv --align 3
expect 2 '--effort' plan odd.csv --effort 0
expect 2 '--capacity' plan odd.csv --capacity 0
expect 2 'would overwrite\|overwrite' plan odd.csv -o odd.csv
expect 2 'no-such-file' plan no-such-file

# What was left out of a log is said, and a plan of the rest is not one of all.
printf 'op,ptr,size\nalloc,1,1000\nalloc,2,0\nfree,3,\nfree,1,1000\nalloc,2,4096\nalloc,5,4' >lacks.csv
expect 0 'hold the 3 requests that were read' plan lacks.csv
expect 0 'Of the recording: 1 ends of requests that the log does not begin' plan lacks.csv
expect 0 'Of the recording: 1 requests of 0 bytes were left out' plan lacks.csv
expect 0 'Of the recording: the last line, 7, has no end' plan lacks.csv
expect_status 0 plan lacks.csv --json notes.json
grep -q '1 requests of 0 bytes were left out' notes.json || fail "the JSON tells no notes: $(cat notes.json)"
printf 'id,lower,upper,size\n1,0,4,50\n2,1,5' >cut.csv
expect 0 'hold the 1 requests that were read' plan cut.csv
expect 0 'the last line is cut off' plan cut.csv
printf 'id,lower,upper,size\n1,0,4,50\n2,1,5,60\n' >whole.csv
expect 0 'hold all 2 requests' plan whole.csv
grep -q 'Of the recording' out && fail "a whole instance has notes: $(cat out)"

# An interrupt ends the search, and the best plan so far is printed and written. At every moment the same is live here,
# in other pieces, so no plan comes near the bound.
python3 - <<'PY'
import random
chance = random.Random(1)
live, rows, time = [(0, 125)] * 8, [], 0
while len(rows) < 100:
    time += 1
    chance.shuffle(live)
    ended, live = live[:2], live[2:]
    whole = sum(size for _, size in ended)
    part = chance.randint(1, whole - 1)
    rows += [(begin, time, size) for begin, size in ended]
    live += [(time, part), (time, whole - part)]
rows = sorted(rows + [(begin, time + 1, size) for begin, size in live])
with open("hard.csv", "w") as out:
    print("id,lower,upper,size", *(f"{i},{b},{e},{s}" for i, (b, e, s) in enumerate(rows)), sep="\n", file=out)
with open("hard-log.csv", "w") as out:
    print("op,ptr,size", file=out)
    for _, op, i, size in sorted([(b, "new", i, s) for i, (b, e, s) in enumerate(rows)] +
                                 [(e, "free", i, s) for i, (b, e, s) in enumerate(rows)]):
        print(f"{op},{i + 1},{512 * size}", file=out)
PY
for instance in hard.csv hard-log.csv; do
    "$replay" plan "$instance" --effort 100000 -o so-far.csv --json so-far.json >out 2>&1 &
    sleep 2
    kill -TERM $!
    wait $!
    status=$?
    [ "$status" = 143 ] || fail "an interrupted plan of $instance ended with $status: $(cat out)"
    tr '\n' ' ' <out | grep -q 'The search was interrupted' || fail "an interrupt is not told: $(cat out)"
    grep -q '"is_interrupted": true' so-far.json || fail "the JSON tells no interrupt: $(cat so-far.json)"
    check so-far.csv so-far.json >checked 2>&1 || fail "interrupted $instance: $(tail -1 checked)"
done

# A plan for a program that goes on: its steps are found, what comes after them is cut, and it is a plan like others.
python3 - <<'PY'
import csv, random
rows, live, chance = [], [], random.Random(1)
sizes = [chance.randint(1, 4000) * 512 for _ in range(30)]
with open("steps.csv", "w") as f:
    out = csv.writer(f)
    out.writerow(["time_ns", "action", "bytes", "address", "stream"])
    for number in range(40 + 30 * 6 + 7):
        size = (number + 7) * 1024 if number < 40 else sizes[(number - 40) % 30] if number < 220 else 3000 * number
        out.writerow([number * 10, "alloc", size, hex((number + 1) << 32), int(number % 30 == 3 and number >= 40)])
        if number >= 40:
            live.append(number)
        if len(live) > 9:
            freed = live.pop(chance.randrange(2) if number < 160 else 0)
            out.writerow([number * 10 + 5, "free", "", hex((freed + 1) << 32), ""])
PY
expect_status 0 plan steps.csv --loop --effort 1 -o loop.plan --json proof.json
head -1 loop.plan | grep -qx 'id,lower,upper,size,offset,loop' || fail "a loop is not in the plan: $(head -1 loop.plan)"
[ "$(grep -c ',1$' loop.plan)" = "$(sed -n 's/.*"loop_requests": \([0-9]*\).*/\1/p' proof.json)" ] ||
    fail "the loop's rows are not its requests: $(cat proof.json)"
check loop.plan proof.json >checked 2>&1 || fail "loop: $(tail -1 checked)"
expect 0 'steps\? that repeat' plan steps.csv --loop --effort 1
expect 0 'kept apart, they need' plan steps.csv --loop --effort 1
awk 'BEGIN { print "op,ptr,size"; for (i = 1; i < 50; i++) printf "alloc,0x%d0000000,%d\n", i, i * 1000 }' >once.csv
expect 0 'Nothing repeats' plan once.csv --loop --effort 1
expect 2 'no sequence of requests' plan odd.csv --loop
expect 2 'multiples of 512' plan steps.csv --loop --align 256
expect 0 'id,lower,upper,size,offset,loop\|plan' loop.plan --policy best-fit

# Damaged plans are refused with file, line and reason.
head -c 300 loop.plan >cut.plan
expect 2 'cut.plan: line [0-9]* is not id,lower,upper,size,offset,loop, or it is cut' steps.csv --policy plan:cut.plan
expect 2 'steps.csv: is not a plan' steps.csv --policy plan:steps.csv
expect 2 'missing.plan: No such file' steps.csv --policy plan:missing.plan

expect 0 'replay plan FILE' --help plan
expect 0 '^There is also a policy of this name' --help plan
expect 0 '^plan: the offsets of a plan made beforehand' --help plan
[ "$failures" = 0 ]
