#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# A results file is data: whatever it names, reading it loads no code, opens no real card and no special file. What a
# person types is another matter: the last check shows that the plugin used here does run when it is typed.
set -uo pipefail
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

cat >evil.c <<'C'
#include <stdio.h>
__attribute__((constructor)) static void ran(void)
{
    FILE *f = fopen("evil-ran", "w");
    if (f != NULL)
        fclose(f);
}
C
cc -shared -fPIC -o evil.so evil.c || fail "the plugin does not compile"
cp "$samples/mlp-adam.trace.zst" a.zst
mkdir 'x,' && cp evil.so 'x,/evil.so'            # a comma within a policy in brackets belongs to its name
mkfifo pipe

# reads STATUS ARGUMENT...: the command ends by itself with this status, and nothing that the file names has run
reads() {
    local want=$1 status
    shift
    rm -f evil-ran
    timeout 60 "$replay" "$@" >out 2>err </dev/null
    status=$?
    (( status == want )) || fail "replay $*: exit $status, expected $want: $(cat err)"
    [[ ! -e evil-ran ]] || fail "replay $*: ran the code that the file names"
    grep -q 'Sanitizer' err && fail "replay $*: $(cat err)"
}

# Two plain runs of one trace that differ, as JSON and as databases: of these `diff` replays the trace.
for policy in best-fit pow2; do
    "$replay" a.zst --policy $policy --device sim:1GiB --json $policy.json >/dev/null || fail "no JSON of $policy"
    "$replay" sweep a.zst --policy $policy --device sim:1GiB -o $policy.db >/dev/null || fail "no database of $policy"
done
reads 1 diff best-fit.json pow2.json
grep -q 'The first request that is placed differently' out || fail "two honest results are not replayed: $(cat out)"
reads 1 diff best-fit.db pow2.db
grep -q 'The first request that is placed differently' out || fail "two honest databases are not replayed: $(cat out)"

# changed NAME COLUMN VALUE: the runs of pow2 with another text in a column, as NAME.json and NAME.db
changed() {
    python3 - "$@" <<'PY' || fail "results that name $3 cannot be made"
import json, shutil, sqlite3, sys
name, column, value = sys.argv[1:]
with open("pow2.json") as f:
    results = json.load(f)
def change(node):
    if isinstance(node, dict):
        for key, old in node.items():
            if key == {"trace_path": "path", "device": "device"}.get(column, column) and isinstance(old, str):
                node[key] = value
            else:
                change(old)
    elif isinstance(node, list):
        for item in node:
            change(item)
change(results)
with open(name + ".json", "w") as f:
    json.dump(results, f)
assert value in open(name + ".json").read()
shutil.copy("pow2.db", name + ".db")
db = sqlite3.connect(name + ".db")
for c in [column] + (["device_typed"] if column == "device" else []):
    db.execute(f"UPDATE runs SET {c} = ?", (value,))
db.commit()
PY
}

# A name with and without a slash, with options, and after the words of a shell that are not part of a policy.
n=0
for policy in ./evil.so evil.so ./evil.so:a=1 'export ./evil.so' 'PYTORCH_CUDA_ALLOC_CONF=./evil.so' "$PWD/evil.so" \
              'rmm-pool:upstream=[./evil.so]' 'rmm-pool:upstream=[x,/evil.so]'; do
    n=$((n + 1))
    changed evil$n policy "$policy"
    for kind in json db; do
        reads 1 diff best-fit.$kind evil$n.$kind
        grep -q 'To see where they differ' out && fail "diff tells to type the policy $policy of a results file"
        reads 1 diff evil$n.$kind best-fit.$kind
        reads 0 report evil$n.$kind --html page.html --md page.md --csv page.csv
        grep -q 'code is loaded only if the command line names it' page.html ||
            fail "the page does not say why the run of $policy is not shown"
    done
    reads 0 merge evil$n.db -o merged$n.db
    reads 0 report merged$n.db --html page.html
done

changed planned policy plan:file=pipe
changed planned-too policy 'rmm-limiting:limit=1GiB,upstream=[plan:file=pipe]'
changed real device cuda:0
changed piped trace_path pipe
changed input trace_path -
changed endless trace_path /dev/zero
changed proc trace_path /proc/kmsg
for kind in json db; do
    for name in real piped input endless proc planned planned-too; do
        reads 1 diff best-fit.$kind $name.$kind
        reads 1 diff $name.$kind best-fit.$kind
        [[ $name =~ ^(real|planned) ]] && grep -q 'To see where they differ' out &&
            fail "diff tells to type what $name.$kind names"
        reads 0 diff $name.$kind $name.$kind
        reads 0 report $name.$kind --html page.html
    done
    "$replay" report real.$kind --html page.html >out 2>&1 &&
        grep -q 'a real card, which only the command line may name' page.html ||
        fail "the page does not say why the run on cuda:0 is not shown"
done

# Two databases that agree on the pipe: `diff` would replay it, since both name the same trace.
python3 - <<'PY'
import json, shutil, sqlite3
for policy in ("best-fit", "pow2"):
    shutil.copy(policy + ".db", policy + "-pipe.db")
    db = sqlite3.connect(policy + "-pipe.db")
    db.execute("UPDATE runs SET trace_path = 'pipe'")
    db.commit()
    with open(policy + ".json") as f:
        text = f.read()
    with open(policy + "-pipe.json", "w") as f:
        f.write(text.replace('"a.zst"', '"pipe"'))
PY
reads 1 diff best-fit-pipe.db pow2-pipe.db
reads 1 diff best-fit-pipe.json pow2-pipe.json

# The command that `diff` suggests is made of texts of the file. In a shell each is one word, whatever it holds.
for path in "a.zst' ;touch OWNED;'" "\$(touch OWNED)" '`touch OWNED`' '-o' 'two words' 'a.zst;touch OWNED #'; do
    for policy in best-fit pow2; do
        python3 - "$path" $policy <<'PY' || fail "results that name $path cannot be made"
import json, sys
with open(sys.argv[2] + ".json") as f:
    results = json.load(f)
results["trace"]["path"] = sys.argv[1]
with open(sys.argv[2] + "-word.json", "w") as f:
    json.dump(results, f)
PY
    done
    reads 1 diff best-fit-word.json pow2-word.json
    hint=$(sed -n 's/^ *To see where they differ: replay //p' out)
    [[ $hint != '' ]] || fail "no hint for $path: $(cat out)"
    sh -c "printf '%s\n' $hint" >words || fail "a shell cannot read: $hint"
    [[ $path = -* ]] && path=./$path
    [[ $(cat words) = "$(printf '%s\n' diff "$path" --policy best-fit --policy pow2 --device sim:1GiB)" ]] ||
        fail "a shell reads the hint for $path as: $(cat words)"
    [[ ! -e OWNED ]] || fail "the hint for $path runs another command"
done

# A file's name never becomes a line of a job file.
reads 2 sweep $'jf/x.zst\npolicy = ./jf/evil.so' --policy best-fit --device sim:1GiB --show-job
grep -q "a job file cannot hold 'jf/x.zst" err || fail "the refused job does not name its value: $(cat err)"
[[ ! -s out ]] || fail "a refused job was written: $(cat out)"

# What a recording holds as PyTorch's settings is read as settings, never as a file's name.
"$replay" snapshot a.zst -o a.pickle || fail "no snapshot to change"
n=0
for settings in ./evil.so evil.so 'export ./evil.so' "$PWD/evil.so"; do
    n=$((n + 1))
    python3 - "$settings" conf$n.pickle <<'PY' || fail "no snapshot with the settings $settings"
import pickle, sys
with open("a.pickle", "rb") as f:
    snapshot = pickle.load(f)
snapshot["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = sys.argv[1]
with open(sys.argv[2], "wb") as f:
    pickle.dump(snapshot, f)
PY
    reads 0 info conf$n.pickle
    grep -q 'evil.so' out || fail "the settings did not get into the recording: $(cat out)"
    rm -f evil-ran
    for command in '' verify stats summary fit tune 'snapshot -o o.pickle' 'diff a.zst' 'report --html o.html' \
                   'import -o o.zst'; do
        # shellcheck disable=SC2086
        timeout 60 "$replay" $command conf$n.pickle >out 2>&1 </dev/null
        (( $? < 124 )) || fail "replay $command of a recording with the settings $settings does not end"
        [[ ! -e evil-ran ]] || fail "replay $command ran the code that a recording names as $settings"
    done
done

# Whatever source file reads runs from results and opens what they name asks first.
for file in $(cd "$3" &&
              grep -lE 'run_table_(text|cell)|results_db_each_run' -r replay report policies --include='*.c'); do
    grep -qE 'policy_spec_parse|policy_load|device_choose|trace_open|sha256_file' "$3/$file" || continue
    grep -q foreign_run_check "$3/$file" || fail "$file opens what results name without foreign_run_check"
done

"$replay" a.zst --policy ./evil.so >out 2>&1
[[ -e evil-ran ]] || fail "the plugin does not run when it is typed, so these checks show nothing"

[ "$failures" = 0 ]
