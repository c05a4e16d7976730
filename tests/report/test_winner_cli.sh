#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# One winner: the terminal, --json, Markdown, the page and the database's view `best` name the same run, `fit` and
# `tune` name the same setting on every bundled sample, and `why` too if it names one. Python and MCP name what the
# command names. Runs that are added to a comparison do not change who wins among the others.
set -u
replay=$1
source=$3
samples=$3/samples
. "$3/tests/shell.sh"
if ! command -v python3 >/dev/null; then
    echo "SKIP: python3 is not installed: nothing reads the JSON, the page and the database"
    exit 77
fi

readonly policies=(best-fit pow2 none gc=0.8 pytorch:expandable)
options=()
for policy in "${policies[@]}"; do options+=(--policy "$policy"); done

# winners TRACE OPTION...: who wins by each of the five outputs, a line each
winners() {
    local trace=$1
    shift
    rm -f five.db*
    "$replay" "$trace" "${options[@]}" "$@" --json five.json >five.txt
    "$replay" sweep "$trace" "${options[@]}" "$@" -o five.db >five.sweep
    "$replay" report five.db --md five.md --html five.html >five.report
    python3 - "${policies[@]}" <<'EOF'
import json, re, sqlite3, sys
policies = sys.argv[1:]

def first(text):
    """The policy that a sentence begins with."""
    text = text.replace('\\', '').removeprefix('The policy ')
    return max((p for p in policies if text.startswith(p + ' ')), key=len, default='?')

text = open('five.txt').read()
says = ' (needs least memory|is best|does as well as any): '
print('terminal', next(first(line) for line in text.split('\n') if re.search(says, line)))
results = json.load(open('five.json'))
print('json', results['runs'][results['best']]['policy'])
print('report', first(open('five.report').read()))
print('markdown', first(open('five.md').read().lstrip('*')))
page = json.loads(re.search('<script type="application/json" id="data">(.*?)</script>',
                            open('five.html').read(), re.S)[1])
order = [page['rows'][i] for i in page['rows_best_first']]
print('page-table', page['settings'][order[0][1]]['label'])
print('page-best', page['settings'][page['rows'][page['cases'][0]['best']][1]]['label'])
for policy, in sqlite3.connect('five.db').execute('SELECT policy FROM best'):
    print('view', policy)
print('sweep', re.search(r'^\S+ +\S+ +\d+ of \d+  (\S+)', open('five.sweep').read(), re.M)[1])
# and by the rule itself, from the numbers of the JSON
price = results['setup']['price_bytes_per_ms']
ok = [r for r in results['runs'] if r['outcome'] == 'ok']
score = lambda r: r['card_peak_bytes'] + price * r['device_time_ns'] // 10**6
least = min(score(r) for r in ok)
changed = {'best-fit': -1, 'none': 0, 'gc=0.8': 2}
alike = [r for r in ok if score(r) <= least + (r['capacity_bytes'] or least) // 50]
print('numbers', min(alike, key=lambda r: (changed.get(r['policy'], 1), score(r)))['policy'])
EOF
}

# ---- five outputs, several traces, several prices ----
n_distinct=0
for name in gpt-varlen-default cnn gpt-varlen-expand 530-270 mlp-adam; do
    for price in 1MiB 1KiB 32MiB; do
        winners "$samples/$name.trace.zst" --device sim:unlimited --price $price >winners 2>&1
        [ "$(wc -l <winners)" = 9 ] && [ "$(cut -d ' ' -f 2 winners | sort -u | wc -l)" = 1 ] ||
            fail "$name at $price: outputs disagree: $(cat winners)"
        cut -d ' ' -f 2 winners | head -1
    done
done >chosen
n_distinct=$(sort -u chosen | wc -l)
[ "$n_distinct" -ge 3 ] || fail "the price decides nothing: $(cat chosen)"

# ---- fit and tune name the same, on every sample: on the card that they choose themselves, and on a tight one ----
# named DB|JSON|HTML: who wins; "-": nobody gets through
named() {
    python3 - "$1" <<'EOF'
import json, re, sqlite3, sys
if sys.argv[1].endswith('.html'):
    page = json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', open(sys.argv[1]).read(),
                                re.S)[1])
    best = page['cases'][0]['best']
    print('-' if best is None or best < 0 else page['settings'][page['rows'][best][1]]['label'])
elif sys.argv[1].endswith('.db'):
    found = sqlite3.connect(sys.argv[1]).execute('SELECT policy FROM best').fetchall()
    print(found[0][0] if found else '-')
else:
    results = json.load(open(sys.argv[1]))
    rows = results.get('runs') or results['fits']
    print('-' if results['best'] is None else rows[results['best']]['policy'])
EOF
}

# why_names OPTION...: the setting that why recommends, or says to serve what was refused; nothing if it names none
why_names() {
    "$replay" why "$@" --json why.json >/dev/null 2>&1
    python3 -c "
import json
why = json.load(open('why.json'))
print(((why['recommended'] or why['serves_refused']) or {'conf': ''})['conf'])"
}

# agree TRACE OPTION...: what tune recommends, or the default if it changes nothing, wins wherever it competes
agree() {
    local tuned said=
    "$replay" tune "$@" >tune.txt 2>&1
    tuned=$(sed -n 's/^  export PYTORCH_CUDA_ALLOC_CONF=//p' tune.txt | head -1)
    local tried=(--policy best-fit --policy expandable_segments:True --policy max_split_size_mb:32 --policy gc=0.8)
    [ -z "$tuned" ] || tried+=(--policy "$tuned")
    rm -f all.db*
    "$replay" sweep "$@" "${tried[@]}" -o all.db >all.sweep 2>&1
    "$replay" report all.db --html all.html >all.report 2>&1
    "$replay" "$@" "${tried[@]}" --json all.json >/dev/null 2>&1
    "$replay" fit "$@" "${tried[@]}" --json fit.json >/dev/null 2>&1
    said="$(named all.db) $(named all.json) $(named fit.json) $(named all.html) ${tuned:-best-fit}"
    local cure
    cure=$(why_names "$@")
    [ -z "$cure" ] || [ "$cure" = "$tuned" ] || fail "$*: why names $cure, tune ${tuned:-nothing}"
    [ "$(named all.db)" != - ] || return 0              # nobody gets through: fit says what would, tune what is lacking
    [ "$(tr ' ' '\n' <<<"$said" | sort -u | wc -l)" = 1 ] || fail "$*: sweep, replay, fit, page and tune name $said"
    grep -qF "$(named all.db) " all.report || fail "$*: report does not name $(named all.db): $(cat all.report)"
}
for trace in "$samples"/*.trace.zst; do
    agree "$trace"
done
agree "$samples/gpt-varlen-default.trace.zst" --device 8GiB
agree "$samples/gpt-varlen-default.trace.zst" --device 240MiB
agree "$samples/530-270.trace.zst" --device sim:2GiB
n_cures=0
for name in varying_results embeddings_served some_buffers_stay checkerboard_freed every_second_freed; do
    trace=$source/tests/dying/recordings/$name.zst
    "$replay" tune "$trace" >tune.txt 2>&1
    cure=$(why_names "$trace")
    [ "$cure" = "$(sed -n 's/^  export PYTORCH_CUDA_ALLOC_CONF=//p' tune.txt | head -1)" ] ||
        fail "$name: why names $cure, and tune: $(grep export tune.txt)"
    [ -z "$cure" ] || n_cures=$((n_cures + 1))
done
[ "$n_cures" = 5 ] || fail "why names a setting for $n_cures of 5 programs that fragment their card"

# ---- Python and MCP name what the command names: tune, why and fit, each asked all three ways ----
mkdir -p asked
cp "$samples/gpt-varlen-default.trace.zst" "$samples/oom-fragmented.trace.zst" "$samples/oom-leak.trace.zst" \
    "$source/tests/dying/recordings/embeddings_served.zst" asked
VRAMREPLAY_PROGRAM=$replay PYTHONPATH=$source/python python3 - "$replay" <<'EOF' || failures=$((failures + 1))
import json, os, subprocess, sys
import vramreplay

def winner(tool, answer):
    """The setting that an answer names."""
    if tool == 'fit':
        return answer['fits'][answer['best']]['policy'] if answer['best'] is not None else None
    named = answer['recommended'] or answer.get('serves_refused')
    return named and named['conf']

def by_command(tool, path):
    done = subprocess.run([sys.argv[1], tool, path, '--json', '-'], capture_output=True, check=True)
    return json.loads(done.stdout)

def by_mcp(asked):
    calls = [{'jsonrpc': '2.0', 'id': i, 'method': 'tools/call',
              'params': {'name': tool, 'arguments': {'recording': os.path.basename(path)}}}
             for i, (tool, path) in enumerate(asked)]
    done = subprocess.run([sys.executable, '-m', 'vramreplay.mcp', '--folder', 'asked'], text=True, check=True,
                          input=''.join(json.dumps(call) + '\n' for call in calls), capture_output=True)
    answers = {a['id']: a for a in map(json.loads, done.stdout.splitlines())}
    return [answers[i]['result']['structuredContent'] for i in range(len(asked))]

asked = [(tool, os.path.join('asked', name)) for name in sorted(os.listdir('asked')) for tool in ('tune', 'why', 'fit')]
wrong, n_named = [], 0
for (tool, path), told in zip(asked, by_mcp(asked)):
    by_python = getattr(vramreplay, tool)(path).to_dict()
    names = [winner(tool, by_command(tool, path)), winner(tool, by_python), winner(tool, told)]
    n_named += names[0] is not None
    if len(set(names)) != 1:
        wrong.append(f'{tool} {path}: command, Python and MCP name {names}')
if wrong or n_named < 6:
    sys.exit('FAILED: ' + '; '.join(wrong) + f' ({n_named} settings named)')
EOF

# ---- two policies that reserve everything at once, and so hardly call the driver, change nothing among the others ----
for pool in one two; do
    cc -std=c11 -fPIC -shared -I "$source" -o $pool.so "$source/tests/preallocating.c" ||
        fail "the plugin does not compile"
done
for name in gpt-varlen-default cnn gpt-varlen-expand 530-270 mlp-adam; do
    trace=$samples/$name.trace.zst
    "$replay" "$trace" "${options[@]}" --device sim:80GiB --json few.json >/dev/null
    "$replay" "$trace" --policy ./one.so:pool=40GiB --policy ./two.so:pool=50GiB "${options[@]}" --device sim:80GiB \
        --json many.json >/dev/null
    rm -f pools.db*
    "$replay" sweep "$trace" --policy ./one.so:pool=40GiB --policy ./two.so:pool=50GiB "${options[@]}" \
        --device sim:80GiB -o pools.db >/dev/null
    python3 - "$name" <<'EOF' || failures=$((failures + 1))
import json, sqlite3, sys
few, many = json.load(open('few.json')), json.load(open('many.json'))
a, b = few['runs'][few['best']]['policy'], many['runs'][many['best']]['policy']
view, = sqlite3.connect('pools.db').execute('SELECT policy FROM best').fetchone()
ok = sum(r['outcome'] == 'ok' for r in many['runs'])
if not (a == b == view and ok == len(many['runs'])):
    sys.exit('FAILED: %s: %s wins, with two pools %s, in the database %s; %d runs' % (sys.argv[1], a, b, view, ok))
EOF
done

# ---- over several traces, cases that no setting fits count against nobody ----
rm -f cases.db*
"$replay" sweep "$samples/gpt-varlen-default.trace.zst" "$samples/mlp-adam.trace.zst" --policy best-fit --policy none \
    --device 'sim:{10MiB,300MiB}' -o cases.db >/dev/null
"$replay" report cases.db >cases.txt
tr -s ' \n' ' ' <cases.txt |
    grep -q 'best-fit does best over all: it gets through 2 of the 2 cases (a trace on a card) '\
'that any setting gets through (nothing fits 2 more)' ||
    fail "cases that nothing fits: $(cat cases.txt)"

# ---- the price: stored by a sweep, used by a report, changed by --price ----
rm -f price.db*
"$replay" sweep "$samples/cnn.trace.zst" --policy best-fit --policy none --device sim:unlimited \
    --price 1KiB -o price.db >out 2>&1
grep -q '^[^ ]*  *[^ ]*  *[0-9] of [0-9]  none ' out || fail "a sweep's summary at another price: $(cat out)"
"$replay" report price.db | grep -q '^The policy none needs least memory' ||
    fail "a report forgets the price of its database"
"$replay" report price.db --price 1MiB | grep -q '^best-fit is best' || fail "a report ignores --price"
"$replay" "$samples/cnn.trace.zst" --price lots >out 2>&1
[ $? = 2 ] && grep -q "price 'lots'" out || fail "a price that is no size: $(cat out)"

exit $((failures > 0))
