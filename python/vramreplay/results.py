# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the program answers, one class for each object of its JSON. Made by generate_results.py; do not edit.

Sizes are bytes and times nanoseconds. None stands for a fact that is not known. report/SCHEMA.md has the words in full.
"""
from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Union

from vramreplay.result import Result

InfoPlatform = Literal["unknown", "linux", "windows", "rocm-windows", "wsl", "rocm", "xpu", "mps", "npu", "jetson",
                       "jax", "tensorflow"]
CoverageBegins = Literal["empty", "mid-run", "cut"]
CoverageEnds = Literal["open", "exit", "refused", "interrupted", "cut"]
InfoStartState = Literal["empty", "mid-run"]
ExplanationWay = Literal["merge", "release"]
WhyVerdict = Literal["not-in-force", "somebody-else", "limited", "streams", "one-tensor", "leak", "larger-input",
                     "full", "fragmented", "retries", "cache", "recording-ends", "card-had-room", "full-or-fragmented",
                     "host-lent", "host-full", "shared-memory", "budget", "broken-size", "kernel-too-large",
                     "index-out-of-range", "library-refused", "workspace-refused", "untold"]
WhyReached = Literal["setup", "forward", "backward", "optimizer", "step", "steps"]
WhyGrowthTurn = Literal["step", "forward pass", "backward pass", "run"]
WhyStreamsWalls = Literal["streams", "late-uses", "both"]
WhyPlayedOnTurn = Literal["step", "half"]
WhyLeverLever = Literal["half-batch", "checkpoint", "sgd", "bf16", "autocast", "8-bit-states"]
WhyEnd = Literal["here", "survived", "goes-on", "another-error"]
WhoBy = Literal["line", "file", "stack", "size", "stream", "pool", "category", "module"]
FirstStepReached = Literal["setup", "forward", "backward", "optimizer", "step"]
ShrinkProgramCall = Literal["request", "free", "free-later", "complete", "flush"]
AdversaryProgramCall = Literal["request", "free", "flush", "use", "pool-create", "pool-enter", "pool-leave",
                               "pool-drop", "capture-begin", "capture-end", "graph-reset"]
DiffKind = Literal["traces", "policies", "runs"]
EventKind = Literal["alloc", "free", "free_requested", "free_completed", "flush", "oom", "command", "mark"]
ServeCardVerdict = Literal["fits", "may-fit", "does-not-fit", "unknown"]
ServeCardEnd = Literal["ready", "no-cache", "request-too-long", "share-not-free", "refused", "died-later", "other"]
ServeCardServer = Literal["vllm", "sglang"]
BisectEnd = Literal["named", "open", "not higher", "interrupted"]


@dataclass(frozen=True, repr=False)
class InfoSettings(Result):
    """`settings` of Info: PyTorch's settings."""
    #: the text of the variable; null: not recorded
    asked: Optional[str]
    #: as a settings text, empty for the defaults; null: not recorded
    in_force: Optional[str]
    #: what was asked for and is not in force, a sentence; null: nothing
    not_in_force: Optional[str]


@dataclass(frozen=True, repr=False)
class Coverage(Result):
    """`trace` of Blame: what the recording covers."""
    #: empty; mid-run: the recording was switched on while the program ran; cut: earlier events were lost,
    #: because the history's limit was met
    begins: CoverageBegins
    #: exit: the recorder saw the program end; refused: no request follows the last refused one; interrupted:
    #: the recorder saw a signal end the program; cut: the end is missing; open: nothing tells
    ends: CoverageEnds
    #: requests refused when recorded
    refusals: int
    #: of these, refusals after which the program went on to request memory
    refusals_survived: int
    #: steps recorded from beginning to end; null: nothing repeats
    whole_steps: Optional[int]


@dataclass(frozen=True, repr=False)
class InfoEventsByKind(Result):
    """`events_by_kind` of Info: how many of each kind."""
    #: requests
    alloc: int
    #: frees that were completed at once
    free: int
    #: frees while a stream may still use the memory
    free_requested: int
    #: their ends
    free_completed: int
    #: times that all cached memory was given back
    flush: int
    #: refused requests
    oom: int
    #: settings that change, captures and the like
    control: int
    #: boundaries that the program set
    mark: int


@dataclass(frozen=True, repr=False)
class InfoStart(Result):
    """`start` of Info: before the first event."""
    #: empty; mid-run: requests were live, or segments stood
    state: InfoStartState
    #: live then
    live_requests: int
    #: of these
    live_bytes: int
    #: freed by the program, but a stream may still use them
    pending_frees: int
    #: blocks whose size is not on record
    guessed_sizes: int
    #: that stood
    segments: int
    #: of these
    reserved_bytes: int


@dataclass(frozen=True, repr=False)
class InfoRecorded(Result):
    """`recorded` of Info: what the recorded allocator said of itself."""
    #: reserved at most
    peak_reserved_bytes: Optional[int]
    #: allocated at most
    peak_allocated_bytes: Optional[int]
    #: reserved before the first event
    start_reserved_bytes: Optional[int]
    #: reserved at the end
    end_reserved_bytes: Optional[int]
    #: segments at the end
    end_segments: Optional[int]


@dataclass(frozen=True, repr=False)
class InfoPeakLine(Result):
    """An item of `lines` of InfoPeak: lines of the program that hold them, most first."""
    #: as FILE:LINE and the function
    line: str
    #: it holds
    bytes: int
    #: it holds
    requests: int


@dataclass(frozen=True, repr=False)
class InfoPeak(Result):
    """`peak` of Info: when most is requested at once."""
    #: in the source's numbers if it has them; -1: the start state
    event: int
    #: requested and live then
    bytes: int
    #: live then
    requests: int
    #: lines of the program that hold them, most first
    lines: List[InfoPeakLine]


@dataclass(frozen=True, repr=False)
class ExplanationParts(Result):
    """`parts` of Explanation: the same bytes by what they are."""
    #: live requests, as asked for
    requested_bytes: int
    #: their rounding up to multiples of 512 bytes
    rounding_bytes: int
    #: what their blocks have beyond that: coarser rounding, or a remainder that is not split off
    rest_bytes: int
    #: freed by the program, but a stream may still use it
    pending_bytes: int
    #: free parts of segments that are in use
    split_free_bytes: int
    #: free in whole pages of expandable segments that are otherwise in use: they can be given back
    page_free_bytes: int
    #: cached segments that nothing uses
    whole_free_bytes: int
    #: reserved by the policy, but in no block that it shows
    hidden_bytes: int


@dataclass(frozen=True, repr=False)
class ExplanationDevice(Result):
    """`device` of Explanation: the card."""
    #: that the card has; null: unlimited
    total_bytes: Optional[int]
    #: taken by the process's CUDA context
    context_bytes: int
    #: taken by others
    others_bytes: int
    #: pages of the driver minus reserved; below 0 if small segments share pages
    page_rounding_bytes: int
    #: what the card could still give; null: unlimited
    free_bytes: Optional[int]


@dataclass(frozen=True, repr=False)
class ExplanationFree(Result):
    """An item of `free` of Explanation: free blocks by stream, pool, size class and kind of segment."""
    #: whose they are
    stream: int
    #: whose they are
    pool: int
    #: in segments for small requests
    is_small: bool
    #: nothing else is in their segments
    is_whole: bool
    #: together
    bytes: int
    #: of them in whole pages that can be given back while the rest of their segments is in use
    page_bytes: int
    #: how many
    blocks: int
    #: the largest of them
    largest_bytes: int
    #: why these segments are not given back; null unless is_whole
    why_kept: Optional[str]


@dataclass(frozen=True, repr=False)
class ExplanationHole(Result):
    """An item of `holes` of Explanation: the largest groups of free parts next to live blocks."""
    #: of one, without its whole pages
    bytes: int
    #: requested by the larger live neighbour
    pin_bytes: int
    #: how many
    count: int


@dataclass(frozen=True, repr=False)
class ExplanationRequest(Result):
    """`request` of Explanation: what was asked for."""
    #: as asked for
    requested_bytes: int
    #: as the policy rounds it; if it does not say, to 512 bytes
    block_bytes: int
    #: what it needs of the device: a new segment or pages; at least that much if it was not refused
    segment_bytes: int
    #: whose it is
    stream: int
    #: whose it is
    pool: int
    #: the largest free block of its stream, pool and size class
    largest_usable_bytes: int
    #: that the device lacks for the segment
    missing_bytes: int


@dataclass(frozen=True, repr=False)
class ExplanationBlock(Result):
    """An item of `blocks` of Explanation: the smallest set found, by address."""
    #: as asked for
    requested_bytes: int
    #: of the block
    bytes: int
    #: where it is
    address: int
    #: whose it is
    stream: int
    #: whose it is
    pool: int
    #: freed by the program, but a stream may still use it
    is_pending: bool
    #: of the request; -1: live at the start; null: not known
    event: Optional[int]
    #: since then; null: not known
    age_ns: Optional[int]
    #: frames, innermost first; empty if not recorded
    stack: List[str]


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """`event` of ReplayRunExplanation: before the event given with --explain, or after the last."""
    #: in trace.numbering; -1: before the first event, in the start state or for --warm; null: after the last
    #: event
    event: Optional[int]
    #: false: the policy does not show its blocks, all of them are hidden
    shows_blocks: bool
    #: all memory that the policy has from the device
    reserved_bytes: int
    #: the same bytes by what they are: the sum is reserved_bytes
    parts: ExplanationParts
    #: the card: context_bytes + others_bytes + reserved + page_rounding_bytes + free_bytes is total_bytes
    device: ExplanationDevice
    #: free blocks by stream, pool, size class and kind of segment
    free: List[ExplanationFree]
    #: the largest groups of free parts next to live blocks
    holes: List[ExplanationHole]
    #: holes in smaller groups
    other_holes: int
    #: any free block
    largest_free_bytes: int
    #: what was asked for; null: the event asks for nothing
    request: Optional[ExplanationRequest]
    #: how the end of blocks makes the request fit: merge: with their free neighbours they are large enough;
    #: release: their segments or pages are given back, and the device has room. null: no set was found, or
    #: nothing has to end
    way: Optional[ExplanationWay]
    #: merge: of that one block; release: free on the device then
    gained_bytes: Optional[int]
    #: the smallest set found, by address
    blocks: List[ExplanationBlock]


@dataclass(frozen=True, repr=False)
class Info(Result):
    """The answer of info."""
    schema: str
    #: as it was typed
    path: str
    #: facts of the source by name: its kind, settings, what could not be known (notes)
    meta: Dict[str, str]
    #: where it was made, a platform of replay-why/1; unknown: it does not tell
    platform: InfoPlatform
    #: PyTorch's settings; null: the recording names no release
    settings: Optional[InfoSettings]
    #: what the recording covers; null: the events cannot be read
    trace: Optional[Coverage]
    #: ordinal in the recording
    device: int
    #: of the recorded device, or what of it the program could have; null: not recorded
    capacity_bytes: Optional[int]
    #: wall clock of the first event, microseconds since 1970; null: not recorded
    epoch_us: Optional[int]
    #: the trace is being written, or its writer was killed
    is_unfinished: bool
    #: at the end of an unfinished trace, that could not be read; else 0
    cut_off_bytes: int
    #: from the first event to the last
    duration_ns: int
    #: in the source
    records: int
    #: in the trace; a free that was completed at once is one event
    events: int
    #: how many of each kind
    events_by_kind: InfoEventsByKind
    #: the default one included
    streams: int
    #: the default one included
    pools: int
    #: most live at once
    peak_live_requests: int
    #: most requested and not freed at once
    peak_requested_bytes: int
    #: before the first event
    start: InfoStart
    #: what the recorded allocator said of itself; null: not recorded
    recorded: InfoRecorded
    #: the numbers of the source's records are on record
    has_source_numbers: bool
    #: the recorded addresses are
    has_addresses: bool
    #: the recorded allocator's calls to the driver are
    has_segment_events: bool
    #: distinct call stacks
    stacks: int
    #: when most is requested at once; null without call stacks, and beyond four million events
    peak: Optional[InfoPeak]
    #: where the memory was at the end, as the recording says: as of a run, without a card; null: it does not
    #: say
    final_state: Optional[Explanation]


@dataclass(frozen=True, repr=False)
class ReplayTrace(Result):
    """`trace` of Replay: what was replayed."""
    #: as it was typed
    path: str
    #: what kind of recording it is: pytorch-snapshot, cuda-calls, generated; native if the trace does not say
    source: str
    #: the device's ordinal in the recording
    device: int
    #: events replayed, without the requests of the start state
    events: int
    #: requests among them that were served when recorded
    allocs: int
    #: requests that the program freed
    frees: int
    #: empty; mid-run: requests were live, or segments stood, before the first event
    starts: str
    #: most bytes requested and not freed at once
    peak_requested_bytes: int
    #: the same, but a request that was refused when recorded counts while it is asked for: no allocator needs
    #: less
    live_peak_bytes: int
    #: requested and not freed, as a mean over time: each state counts by how long it lasts; null: no times were
    #: recorded
    mean_live_bytes: Optional[int]
    #: what an offline plan needs, which knows every lifetime beforehand: the least of first fit in order of
    #: time and, up to 2^20 requests, of the 16384 largest by size and by length of life with the rest above
    #: them; null: more than all addresses, or not asked for
    offline_plan_bytes: Optional[int]
    #: of the recorded device, or what of it the program could have
    capacity_bytes: Optional[int]
    #: what an event is: source: the number of the source's own record, from 0; event: our own count
    numbering: str
    #: empty; mid-run: the recording was switched on while the program ran; cut: earlier events were lost,
    #: because the history's limit was met; null: not looked at
    begins: Optional[str]
    #: exit: the recorder saw the program end; refused: no request follows the last refused one; cut: the end is
    #: missing; open: nothing tells; null: not looked at
    ends: Optional[str]
    #: requests refused when recorded
    refusals: int
    #: of these, refusals after which the program went on to request memory
    refusals_survived: Optional[int]
    #: steps recorded from beginning to end; null: nothing repeats
    whole_steps: Optional[int]
    #: from the first event to the last
    duration_ns: int


@dataclass(frozen=True, repr=False)
class ReplaySetup(Result):
    """`setup` of Replay: how it was run, so that it can be run again."""
    #: as after --start
    start: str
    #: as after --on-oom
    on_oom: str
    #: as after --given-back, which was --releases
    releases: str
    #: as after --from; null if the format was recognised
    format: Optional[str]
    #: of policies that draw random numbers; no built-in does
    seed: int
    #: as after --price: what a millisecond of driver time counts as, when runs are compared
    price_bytes_per_ms: int


@dataclass(frozen=True, repr=False)
class ReplayRunPeak(Result):
    """`peak` of ReplayRun: highest values, each at its own time."""
    #: live requests, as asked for; a free counts when it is completed
    requested_bytes: int
    #: live requests, as handed out; a free counts when it is requested
    allocated_bytes: int
    #: allocated, plus freed blocks that a stream may still touch
    active_bytes: int
    #: all memory that the allocator has from the device
    reserved_bytes: int


@dataclass(frozen=True, repr=False)
class ReplayRunMean(Result):
    """`mean` of ReplayRun: over time."""
    #: reserved, as a mean over time until the run ended; null: no times were recorded
    reserved_bytes: Optional[int]


@dataclass(frozen=True, repr=False)
class ReplayRunAtPeak(Result):
    """`at_peak` of ReplayRun: the same four at the peak of reserved."""
    #: as peak.requested_bytes, at the peak of reserved: of its moments the first with most requested
    requested_bytes: int
    #: the same of allocated
    allocated_bytes: int
    #: the same of active
    active_bytes: int
    #: the same of reserved
    reserved_bytes: int


@dataclass(frozen=True, repr=False)
class ReplayRunAtLivePeak(Result):
    """`at_live_peak` of ReplayRun: what was held for the most bytes that were live at once."""
    #: allocated, when requested last rose to its peak; requested is then peak.requested_bytes
    allocated_bytes: int
    #: the same of active
    active_bytes: int
    #: the same of reserved
    reserved_bytes: int


@dataclass(frozen=True, repr=False)
class ReplayRunEnd(Result):
    """`end` of ReplayRun: the same four at the end, or where the run stopped."""
    #: as peak.requested_bytes, at the end, or where the run stopped
    requested_bytes: int
    #: the same of allocated
    allocated_bytes: int
    #: the same of active
    active_bytes: int
    #: the same of reserved
    reserved_bytes: int


@dataclass(frozen=True, repr=False)
class ReplayRunSegments(Result):
    """`segments` of ReplayRun: whole segments of the device."""
    #: most segments at once
    peak: int
    #: segments at the end
    end: int
    #: segments obtained in all
    allocs: int
    #: segments given back in all
    frees: int


@dataclass(frozen=True, repr=False)
class ReplayRunFragmentation(Result):
    """`fragmentation` of ReplayRun: the first four at the moment of at_peak."""
    #: allocated - requested, at the moment of at_peak; below 0 if frees were pending, because these still count
    #: as requested
    internal_bytes: int
    #: reserved - allocated, at the same moment
    external_bytes: int
    #: of it, free parts of segments that also hold active blocks: only whole pages of expandable segments among
    #: them can be given back
    inactive_split_bytes: int
    #: the largest free block, at the same moment
    largest_free_bytes: int
    #: most inactive_split_bytes over the whole run
    inactive_split_bytes_peak: int
    #: peak active / peak reserved; null if nothing was reserved
    utilization: Optional[float]
    #: peak requested / peak reserved; null if nothing was reserved
    efficiency: Optional[float]


@dataclass(frozen=True, repr=False)
class ReplayRunBeforeSteps(Result):
    """`before_steps` of ReplayRun: what precedes the first whole step of the trace, as trace.whole_steps ..."""
    #: most reserved at once before the first whole step; null: the trace has none, or the run did not come so
    #: far
    peak_reserved_bytes: Optional[int]
    #: calls that reached the driver during that time
    device_calls: Optional[int]
    #: modelled time of these calls
    device_time_ns: Optional[int]


@dataclass(frozen=True, repr=False)
class ReplayRunFirstStep(Result):
    """`first_step` of ReplayRun: the first whole step."""
    #: most reserved at once during the first whole step; null: the trace has none, or the run did not come so
    #: far
    peak_reserved_bytes: Optional[int]
    #: calls that reached the driver during that time
    device_calls: Optional[int]
    #: modelled time of these calls
    device_time_ns: Optional[int]


@dataclass(frozen=True, repr=False)
class ReplayRunLaterSteps(Result):
    """`later_steps` of ReplayRun: the whole steps after it."""
    #: most reserved at once during all later whole steps together; null: the trace has none, or the run did not
    #: come so far
    peak_reserved_bytes: Optional[int]
    #: calls that reached the driver during that time
    device_calls: Optional[int]
    #: modelled time of these calls
    device_time_ns: Optional[int]


@dataclass(frozen=True, repr=False)
class ReplayRunOomFirst(Result):
    """`first` of ReplayRunOom: the first of them."""
    #: in trace.numbering; -1: before the first event, in the start state or for --warm
    event: int
    #: as asked for
    requested_bytes: int
    #: reserved at that moment, after whatever the policy gave back
    reserved_bytes: int
    #: requested and live at that moment, without it
    live_bytes: int
    #: allocated at that moment
    allocated_bytes: int
    #: what the device could still give
    device_free_bytes: int


@dataclass(frozen=True, repr=False)
class ReplayRunOom(Result):
    """`oom` of ReplayRun: refused requests."""
    #: requests refused; with --on-oom stop at most 1
    count: int
    #: the first of them
    first: Optional[ReplayRunOomFirst]


@dataclass(frozen=True, repr=False)
class ReplayRunExplanation(Result):
    """`explanation` of ReplayRun: where all memory was at two moments."""
    #: when the first request was refused, after whatever the policy gave back; null if none was
    first_oom: Optional[Explanation]
    #: before the event given with --explain, or after the last; null without that option, or if the run stopped
    #: earlier
    event: Optional[Explanation]


@dataclass(frozen=True, repr=False)
class MeasuredCall(Result):
    """`calls` of Measured."""
    #: how many, without what is given back after the end
    calls: int
    #: measured
    median_ns: int
    #: measured
    p99_ns: int
    #: measured
    total_ns: int
    #: what device_time_ns has for them; create stands for all that a page's mapping takes, unmap for all that
    #: its end takes
    modelled_ns: int


@dataclass(frozen=True, repr=False)
class MeasuredMemory(Result):
    """`end` of Measured: after all was given back."""
    #: reserved then
    reserved_bytes: int
    #: in the driver's pages, as modelled
    page_bytes: int
    #: by cudaMemGetInfo; null: not known
    free_bytes: Optional[int]
    #: by cudaMemGetInfo; null: not known
    total_bytes: Optional[int]
    #: in use on the card: by NVML, so as nvidia-smi shows it; null: not known
    card_bytes: Optional[int]
    #: in use by this process: by NVML; null: not known
    process_bytes: Optional[int]


@dataclass(frozen=True, repr=False)
class Measured(Result):
    """`measured` of ReplayRun: what a real card took."""
    #: the card's name, empty if it has none
    card: str
    #: versions of the driver and of CUDA, and which runtime library was found
    software: str
    #: by what was asked of the driver: malloc (cudaMalloc; without a runtime library cuMemAlloc), free, reserve
    #: (cuMemAddressReserve), unreserve (cuMemAddressFree), create (cuMemCreate), release (cuMemRelease), map
    #: (cuMemMap), access (cuMemSetAccess), unmap (cuMemUnmap), touch (with --touch: a memset and the wait for
    #: it), refused (any of these that found no memory)
    calls: Dict[str, MeasuredCall]
    #: the card's memory before the first allocation
    idle: MeasuredMemory
    #: when most was reserved, or at most 0.2 % less
    peak: MeasuredMemory
    #: after all was given back
    end: MeasuredMemory
    #: in use when idle by this process's context
    context_bytes: Optional[int]
    #: in use when idle by all others
    others_bytes: Optional[int]
    #: what should be in use at the peak: what was in use when idle, plus peak.page_bytes
    explained_bytes: int
    #: what was: peak.card_bytes, without NVML total_bytes - free_bytes
    used_bytes: int
    #: (used - explained) / used
    difference_percent: float
    #: calls that the card refused although its capacity should have allowed them
    refusals: int


@dataclass(frozen=True, repr=False)
class ReplayRun(Result):
    """An item of `runs` of Replay: one object per policy, in the order given."""
    #: as it was typed
    policy: str
    #: the policy that ran
    name: str
    #: every option of the policy with the value used: number (sizes, counts, shares), true or false, text; null
    #: if it is not set
    options: Dict[str, Optional[Union[bool, float, str]]]
    #: as after --device; if no capacity was given, as it would have to be typed
    device: str
    #: what the card has in all; null: unlimited
    capacity_bytes: Optional[int]
    #: the order of new segments, as after addresses=; list: those of a real card first
    address_order: str
    #: ok; oom: a request was refused; corrupt: the audit, or the replay itself, found an answer of the policy
    #: wrong; error: the policy could not go on. warnings explain the last two
    outcome: str
    #: highest values, each at its own time
    peak: ReplayRunPeak
    #: over time; null: no times were recorded
    mean: Optional[ReplayRunMean]
    #: the same four at the peak of reserved: of its moments the first with most requested
    at_peak: ReplayRunAtPeak
    #: what was held for the most bytes that were live at once
    at_live_peak: ReplayRunAtLivePeak
    #: the same four at the end, or where the run stopped
    end: ReplayRunEnd
    #: most memory in use on the card, as nvidia-smi shows it: whole pages of the driver, context and others
    #: included
    card_peak_bytes: int
    #: most page-locked memory of the host that the policy took, as a second kind of memory; reserved does not
    #: count it
    host_peak_bytes: int
    #: whole segments of the device
    segments: ReplayRunSegments
    #: the first four at the moment of at_peak
    fragmentation: ReplayRunFragmentation
    #: calls that reached the driver
    device_calls: int
    #: modelled time of these calls (see assumptions)
    device_time_ns: int
    #: of these calls, those that order a stream after another
    device_waits: int
    #: of these calls, those that let the host wait for a stream or for the card
    device_syncs: int
    #: what precedes the first whole step of the trace, as trace.whole_steps counts them
    before_steps: Optional[ReplayRunBeforeSteps]
    #: the first whole step
    first_step: Optional[ReplayRunFirstStep]
    #: the whole steps after it
    later_steps: Optional[ReplayRunLaterSteps]
    #: requests tried again after cached memory was given back
    retries: int
    #: refused requests
    oom: ReplayRunOom
    #: what the result rests on
    assumptions: List[str]
    #: what to act on
    warnings: List[str]
    #: where all memory was at two moments
    explanation: ReplayRunExplanation
    #: what a real card took; null on a simulated one
    measured: Optional[Measured]


@dataclass(frozen=True, repr=False)
class ReplayComparison(Result):
    """An item of `comparisons` of Replay: with several devices."""
    #: as it was typed
    policy: str
    #: the two, as typed
    devices: List[str]
    #: calls on each
    calls: List[int]
    #: calls that are the same, from the first on
    common_calls: int
    #: all are
    is_equal: bool
    #: what each was asked then; empty if all are equal
    first_difference: List[str]


@dataclass(frozen=True, repr=False)
class Replay(Result):
    """The answer of replay."""
    schema: str
    #: what was replayed
    trace: ReplayTrace
    #: how it was run, so that it can be run again
    setup: ReplaySetup
    #: one object per policy, in the order given; with several devices all policies on the first, then on the
    #: next
    runs: List[ReplayRun]
    #: the run that wins: its place in runs, from 0. The rule: card_peak_bytes + device_time_ns x
    #: setup.price_bytes_per_ms / 10^6 of those that get through; of those within 2 % of the card of the least
    #: the simplest setting (doc/metrics.md). null: none gets through
    best: Optional[int]
    #: with several devices: the first with each other one, policy by policy. A comparison looks at the calls to
    #: the device in order: what was asked, the size, which segment, and whether it was refused
    comparisons: List[ReplayComparison]


@dataclass(frozen=True, repr=False)
class WhyLimit(Result):
    """`limit` of Why: a limit that refused requests though the card had room."""
    #: so much was held under it
    least_bytes: int
    #: so much would have exceeded it
    below_bytes: int
    #: held and free at a refusal
    card_bytes: int


@dataclass(frozen=True, repr=False)
class WhyGrowth(Result):
    """`growth` of Why: what lines hold more and more of."""
    #: by how much
    bytes: int
    #: in how many of the program's turns; 0: without stacks nothing tells
    turns: int
    #: what most turns leave behind, or the mean if they differ
    bytes_per_turn: int
    #: no backward pass was seen since, so it may be one long forward pass as well
    may_be_one_pass: bool
    #: no backward pass was ever seen, and it is replaced by a larger one again and again: it may be a cache
    #: that is meant to grow
    may_be_meant: bool
    #: it began after the last backward pass and step of an optimizer: results of an evaluation are kept
    of_evaluation: bool
    #: the same requests were left behind twice and not freed: a leak if that goes on, or copies that are meant
    of_two_sets: bool
    #: the graphs of two steps alone are still held: a leak if that goes on
    of_two_turns: bool
    #: it was asked for before a refused request that the program caught, and is still held
    of_caught_refusal: bool
    #: step, forward pass, backward pass, or run of the line that grows most
    turn: WhyGrowthTurn
    #: it comes once in so many turns; null: in each, or in no rhythm
    burst_turns: Optional[int]
    #: by so much each time
    burst_bytes: Optional[int]
    #: what the lines that grow hold when the request is refused, or in the end
    held_bytes: int
    #: of these
    held_requests: int
    #: of these, from before the recording, counted by their size; 0: none
    before_bytes: int
    #: of these
    before_requests: int


@dataclass(frozen=True, repr=False)
class WhyThaw(Result):
    """`thaw` of Why: layers learn in the step that was cut off and did not before."""
    #: held, and freed at once before
    activations_bytes: int
    #: asked for by a backward pass
    gradients_bytes: int
    #: of the optimizer
    states_bytes: int


@dataclass(frozen=True, repr=False)
class Holder(Result):
    """An item of `grows` of Why: the lines that hold more and more, the one that grew most first, with what ..."""
    #: of the program, as "LINE, called at LINE" if another line of it calls it; without call stacks the size of
    #: each request
    line: str
    #: that it holds
    bytes: int
    #: that it holds
    requests: int


@dataclass(frozen=True, repr=False)
class WhyLoaded(Result):
    """`loaded` of Why: of what is full, or a larger input."""
    #: of it
    bytes: int
    #: of these, with an older weight or state of just that size
    twin_bytes: int
    #: that loaded it
    lines: List[Holder]


@dataclass(frozen=True, repr=False)
class WhyOptimizerStep(Result):
    """`optimizer_step` of Why: what was refused was asked for in a step of an optimizer that computes all ..."""
    #: held only while the step lasts
    bytes: int
    #: without these, and twice the largest of them, the step has room
    fits_by_weight: bool
    #: the optimizer takes fused=True on a card
    has_fused: bool


@dataclass(frozen=True, repr=False)
class ToCome(Result):
    """`to_come` of FirstStep: what it would have asked for besides."""
    #: still to come, if all weights learn
    gradients_bytes: int
    #: of the optimizer, still to come at least; if it is not known, what Adam's would take if all weights learn
    states_bytes: int
    #: weights, gradients and these states, those that are there and those to come
    at_once_bytes: int
    #: Adam or AdamW, or another of torch.optim; null: not known before its first step
    optimizer: Optional[str]


@dataclass(frozen=True, repr=False)
class WhyLargerInput(Result):
    """`larger_input` of Why: how the last input exceeds all before."""
    #: its requests against the median of the earlier ones
    times_usual: float
    #: of its requests until the refusal
    bytes: int
    #: how much less if it were as large as the largest before
    over_largest_before_bytes: int
    #: live at most in the whole of it, if that grows as the inputs do
    need_bytes: int


@dataclass(frozen=True, repr=False)
class WhyStreams(Result):
    """`streams` of Why: what streams keep from each other, if the recording runs without it."""
    #: what was taken out so that it runs: streams: all requests are on one stream; late-uses: what is freed is
    #: free at once, though another stream may use it (record_stream); both
    walls: WhyStreamsWalls
    #: played on for as long again; false: it is known of the refused request alone
    lasts: bool
    #: that hold memory when the request is refused
    n_streams: int
    #: free in pieces then on other streams than the one that asked
    elsewhere_bytes: int
    #: freed and not free yet, at most at once before
    late_bytes: int
    #: without the walls
    peak_reserved_bytes: int
    #: of what is live on the other streams then; of late uses, of what waited
    lines: List[Holder]


@dataclass(frozen=True, repr=False)
class WhyStalls(Result):
    """`stalls` of Why: nothing was refused, but again and again requests were served only after cached memory ..."""
    #: such requests, as recorded, or on a named card as replayed
    times: int
    #: given back and asked for anew in all; null: not recorded
    given_back_bytes: Optional[int]
    #: such requests in our replay; 0: it shows none, and nothing was tried
    replayed: int
    #: of a card on which the replay shows none
    room_bytes: int
    #: the driver's time beyond that on such a card, modelled
    lost_ns: int
    #: the same under recommended; null: no setting was found that helps
    with_setting_ns: Optional[int]
    #: as in streams, without which nearly none waits; null: none
    walls: Optional[WhyStreamsWalls]
    #: how many of replayed are left without them
    without_walls: Optional[int]


@dataclass(frozen=True, repr=False)
class OwnSetting(Result):
    """An item of `own_settings` of Why: of requests to JAX's or TensorFlow's allocator."""
    #: as after --policy
    policy: str
    #: what a shell sets for it, NAME=value with a space between several; empty: the library as it comes
    variables: str
    #: no request is refused on the card
    runs: bool
    #: of the card, at its peak; null: refused
    card_peak_bytes: Optional[int]
    #: the smallest card on which no request is refused; null: none was found
    smallest_card_bytes: Optional[int]
    #: calls that reached the driver there
    device_calls: int
    #: their modelled time
    device_time_ns: int


@dataclass(frozen=True, repr=False)
class Cure(Result):
    """`serves_refused` of Why: a setting that serves the refused request, and what was recorded after it."""
    #: of PYTORCH_CUDA_ALLOC_CONF; empty: it is not set
    conf: str
    #: the call that goes with it if the release has no option for it
    set_per_process_memory_fraction: Optional[float]
    #: what it reserves at most
    peak_reserved_bytes: int


@dataclass(frozen=True, repr=False)
class WhyPlayedOn(Result):
    """`played_on` of Why: the recording played on by its own pattern, for as long again, under the setting ..."""
    #: what was played again and again: its last whole step, or its later half
    turn: WhyPlayedOnTurn
    #: how many of them were played
    turns: int
    #: how many ran
    lasted: int


@dataclass(frozen=True, repr=False)
class WhyLever(Result):
    """An item of `levers` of Why: of what is full, if a whole step is on record."""
    #: half-batch, checkpoint, sgd, or another precision: bf16 (weights), autocast, 8-bit-states. Those of
    #: another precision hold if 32 bits were recorded, which no recording tells; not tried under autocast,
    #: 8-bit-states excepted
    lever: WhyLeverLever
    #: by how much less would be live at once at most, as far as was recorded
    saves_bytes: int


@dataclass(frozen=True, repr=False)
class FilledStep(Result):
    """`if_step_goes_on` of Tune: if the cut step goes on as the one before, filled in from it and not recorded."""
    #: requested and not freed at once, at most
    live_peak_bytes: int
    #: the smallest card that runs it, of fit under this policy, else under the recorded setting; null: none was
    #: found
    smallest_card_bytes: Optional[int]
    #: the best setting runs it on this card; of why, the setting that is recommended or serves the refused
    #: request; null: there is none
    runs_with_setting: Optional[bool]


@dataclass(frozen=True, repr=False)
class HeldCategory(Result):
    """An item of `categories` of Predict: what the program holds when it has requested most, by category as in ..."""
    #: as in replay-who/1
    category: str
    #: live
    bytes: int
    #: of these, bytes whose category is a guess
    guessed_bytes: int
    #: live
    requests: int


@dataclass(frozen=True, repr=False)
class WhyOtherCause(Result):
    """`other_cause` of Why: the first death of another rank that has another cause, and is not answered."""
    #: of the log
    line: int
    #: that died of it; null: not told
    rank: Optional[int]
    #: its device
    gpu: int
    #: as verdict
    verdict: str


@dataclass(frozen=True, repr=False)
class WhyText(Result):
    """`text` of Why: what the text of PyTorch's own error says."""
    #: pytorch, or the framework around it
    stack: str
    #: where the program ran: linux, windows, wsl, rocm, rocm-windows, xpu, mps, npu, jetson, or unknown
    platform: InfoPlatform
    #: that the log holds
    errors: int
    #: of the log, with the error that is answered: the first that ended a rank
    line: int
    #: that died of it; null: not told
    rank: Optional[int]
    #: its device
    gpu: int
    #: the segment that PyTorch asked for
    asked_bytes: int
    #: the smallest request that it may stand for
    least_asked_bytes: int
    #: as the text says
    card_bytes: int
    #: as the text says
    free_bytes: int
    #: limit of a memory fraction; null: it does not say
    allowed_bytes: Optional[int]
    #: as the text says
    allocated_bytes: int
    #: as the text says
    reserved_bytes: int
    #: free in private pools, which is part of allocated; null: it does not say
    private_pools_bytes: Optional[int]
    #: on the card and not PyTorch's; 0: less than the rounding; null: the figures contradict each other
    outside_bytes: Optional[int]
    #: of the processes that the text lists, without the one that is the program itself, as in a container; if
    #: the text names none, what is neither free nor PyTorch's, less the most that a context takes
    other_processes_bytes: int
    #: a setting of the release that wrote it, which exists on the platform and may serve the request; null:
    #: none
    setting: Optional[str]
    #: the variable for it; null: there is no setting
    variable: Optional[str]


@dataclass(frozen=True, repr=False)
class WhyWordsProgramBuffer(Result):
    """An item of `buffers` of WhyWordsProgram: the largest, at most three."""
    #: its size
    bytes: int
    #: the end of its name; null: not told
    operation: Optional[str]
    #: of the program, which asked for it; null: not told
    line: Optional[str]
    #: with its type; null: not told
    shape: Optional[str]
    #: it is handed to the program
    is_argument: bool


@dataclass(frozen=True, repr=False)
class WhyWordsProgram(Result):
    """`program` of WhyWords: what a program that XLA compiled takes, as it lists with its error."""
    #: in all; null: not told
    total_bytes: Optional[int]
    #: null: not told
    arguments_bytes: Optional[int]
    #: beyond what they share with arguments, where that is told; null: not told
    results_bytes: Optional[int]
    #: null: not told
    temporaries_bytes: Optional[int]
    #: the largest, at most three
    buffers: List[WhyWordsProgramBuffer]


@dataclass(frozen=True, repr=False)
class WhyWords(Result):
    """`words` of Why: a text that is not PyTorch's own, after any other verdict."""
    #: whose text it is
    name: str
    #: the words that it was known by
    phrase: str
    #: the same, or the framework around it
    stack: str
    #: where the program ran: linux, windows, wsl, rocm, rocm-windows, xpu, mps, npu, jetson, or unknown
    platform: InfoPlatform
    #: of the log
    line: int
    #: as the text says; null: it does not
    asked_bytes: Optional[int]
    #: as the text says; null: it does not
    card_bytes: Optional[int]
    #: as the text says; null: it does not
    free_bytes: Optional[int]
    #: as the text says; null: it does not
    allowed_bytes: Optional[int]
    #: as the text says; null: it does not
    allocated_bytes: Optional[int]
    #: a setting that exists there and may help; null: none
    setting: Optional[str]
    #: what a program that XLA compiled takes, as it lists with its error; null: the text has no such list
    program: Optional[WhyWordsProgram]


@dataclass(frozen=True, repr=False)
class Why(Result):
    """The answer of why."""
    schema: str
    #: as it was typed; of several files the one that is answered; of the driver's calls PyTorch's requests of
    #: the same run, if they lie beside them
    path: str
    #: the recording that a log names and that lies beside it, answered in its place; null: there is none
    named_recording: Optional[str]
    #: the card it was looked at on; null for the text of an error
    device: Optional[str]
    #: the first that holds: not-in-force: a setting was asked for and not applied; somebody-else: others hold
    #: the memory; limited: a limit refused what the card had room for; streams: streams keep memory from each
    #: other; one-tensor: one request is too large; leak; larger-input: the last input is larger than all
    #: before; full; fragmented (if recommended and serves_refused are null, no setting tried cures it); cache:
    #: nothing was refused; retries: nor here, but requests waited again and again until cached memory had been
    #: given back; recording-ends: the recording does not tell; of the text of an error also card-had-room: the
    #: text does not tell why it was refused; full-or-fragmented: the text does not tell which; host-lent: more
    #: is allocated than the card has; host-full and shared-memory: the host ran out, not the card; budget: the
    #: share of a serving engine is too small or too large; broken-size; kernel-too-large; index-out-of-range:
    #: no memory, a kernel's check failed; library-refused: the driver or a library was refused memory, not
    #: PyTorch; workspace-refused: probably PyTorch was, for a convolution; untold: out of memory, the text does
    #: not tell whose
    verdict: WhyVerdict
    #: the other verdicts that hold
    also: Optional[List[WhyVerdict]] = None
    #: what the recording covers
    trace: Optional[Coverage] = None
    #: as fits[].is_lower_bound in replay-fit/1
    is_lower_bound: Optional[bool] = None
    #: the refused request, or the peak of live data, in the source's numbering
    event: Optional[int] = None
    #: by the refused request; 0: nothing was refused
    asked_bytes: Optional[int] = None
    #: at that moment by PyTorch
    reserved_bytes: Optional[int] = None
    #: live of it
    live_bytes: Optional[int] = None
    #: free on the card then
    free_bytes: Optional[int] = None
    #: what the card has for the program
    usable_bytes: Optional[int] = None
    #: live and asked, or later_live_bytes, beyond usable; 0: they would fit
    shortfall_bytes: Optional[int] = None
    #: what is live at once after the refused request, if that is what exceeds the card; null: it is not, or was
    #: not recorded
    later_live_bytes: Optional[int] = None
    #: when
    later_event: Optional[int] = None
    #: a limit that refused requests though the card had room; null: no refusal shows one
    limit: Optional[WhyLimit] = None
    #: on the named card and not this program's when a request was refused; null: no card was named, or none was
    #: refused
    outside_bytes: Optional[int] = None
    #: taken off the card for the CUDA context and libraries
    context_bytes: Optional[int] = None
    #: where that figure is from; null: it was typed, or there is none
    context_source: Optional[str] = None
    #: the line of the program that asked; null: nothing was refused, or it is not known
    asked_line: Optional[str] = None
    #: free at that moment, on the card or in PyTorch's segments
    unusable_bytes: Optional[int] = None
    #: before the refusal that ended the program: setup, the first forward or backward pass, the first optimizer
    #: step, step if it computes without modules and repeated none, or steps: more than these; null: not known
    reached: Optional[WhyReached] = None
    #: of live data over the last whole step
    growth_bytes_per_step: Optional[int] = None
    #: what lines hold more and more of; null: none does
    growth: Optional[WhyGrowth] = None
    #: layers learn in the step that was cut off and did not before: bytes beyond the most that any step before
    #: held; null: none do, or it is not known
    thaw: Optional[WhyThaw] = None
    #: of what is full, or a larger input: a file was loaded onto the card beside weights and states as large,
    #: or beside a model whose weights are in it once more; null: none
    loaded: Optional[WhyLoaded] = None
    #: what was refused was asked for in a step of an optimizer that computes all weights at once; null: it was
    #: not
    optimizer_step: Optional[WhyOptimizerStep] = None
    #: of a program that is full in its first step: what it would have asked for besides; null: not known
    to_come: Optional[ToCome] = None
    #: how the last input exceeds all before; null: it does not
    larger_input: Optional[WhyLargerInput] = None
    #: a setting that was asked for and not applied, and why; null: none
    not_in_force: Optional[str] = None
    #: what streams keep from each other, if the recording runs without it; null: nothing, or that ends no
    #: program
    streams: Optional[WhyStreams] = None
    #: nothing was refused, but again and again requests were served only after cached memory had been given
    #: back; null: none, or too few to matter
    stalls: Optional[WhyStalls] = None
    #: of requests to JAX's or TensorFlow's allocator: what their own settings do; the first is the library as
    #: it comes
    own_settings: Optional[List[OwnSetting]] = None
    #: as recommended in replay-tune-own/1: a place in own_settings
    own_recommended: Optional[int] = None
    #: a setting that tune recommends, with whole steps on record; null: none
    recommended: Optional[Cure] = None
    #: a setting that serves the refused request, and what was recorded after it; whether it gets the program
    #: through a step is not on record. Of what is full it is worth a try, and no cure; null: none
    serves_refused: Optional[Cure] = None
    #: the recording played on by its own pattern, for as long again, under the setting that serves the refused
    #: request; if it does not last, that setting is not named; null: there is none, nothing can be played on,
    #: or the later half does not last, which tells nothing
    played_on: Optional[WhyPlayedOn] = None
    #: of what is full, if a whole step is on record: ways to train that were tried on the recording; empty:
    #: none was
    levers: Optional[List[WhyLever]] = None
    #: if the cut step goes on as the one before, filled in from it and not recorded; null: it cannot be filled
    #: in
    if_step_goes_on: Optional[FilledStep] = None
    #: the lines that hold most at that moment, or at later_event, the most first
    holds: Optional[List[Holder]] = None
    #: the lines that hold more and more, the one that grew most first, with what they hold when the request is
    #: refused, or in the end
    grows: Optional[List[Holder]] = None
    #: what is live at that moment, by category, the most first
    categories: Optional[List[HeldCategory]] = None
    #: here: the log ends with the error that is answered; survived: the program lived on; goes-on: the log
    #: does, and does not tell whether the program did; another-error: it ends with an error that memory has no
    #: part in
    end: Optional[WhyEnd] = None
    #: that error; null: there is none
    later_error: Optional[str] = None
    #: the last line after it that came of it, of its handling, or of a process that lost it; null: there is
    #: none
    consequence: Optional[str] = None
    #: the first death of another rank that has another cause, and is not answered; null: the text tells of none
    other_cause: Optional[WhyOtherCause] = None
    #: what the text of PyTorch's own error says
    text: Optional[WhyText] = None
    #: a text that is not PyTorch's own, after library-refused and workspace-refused
    library: Optional[WhyWords] = None
    #: a text that is not PyTorch's own, after any other verdict
    words: Optional[WhyWords] = None


@dataclass(frozen=True, repr=False)
class WhoRow(Result):
    """An item of `rows` of Who: largest first."""
    #: the group
    name: str
    #: its live bytes
    bytes: int
    #: its live requests
    requests: int
    #: its bytes as a share of all, 0 to 1
    share: float
    #: by category only: of its bytes, those that are a guess
    guessed_bytes: Optional[int] = None


@dataclass(frozen=True, repr=False)
class Who(Result):
    """The answer of who."""
    schema: str
    #: the event just before which this is live, in the source's numbering; null: the end
    event: Optional[int]
    #: live bytes, as requested
    bytes: int
    #: what is grouped by: line, file, module, category, stack, size, stream, pool
    by: WhoBy
    #: largest first; their bytes add up to bytes
    rows: List[WhoRow]
    #: by category only: bytes whose category is not unknown
    named_bytes: Optional[int] = None
    #: by category only: bytes whose category a label tells
    labelled_bytes: Optional[int] = None
    #: by category only: bytes whose category is a guess; of all others a label or a rule without exceptions
    #: tells it
    guessed_bytes: Optional[int] = None
    #: by category only: of these, bytes to which call stacks and lives alone would give the same category
    agreed_bytes: Optional[int] = None


@dataclass(frozen=True, repr=False)
class StartState(Result):
    """`start` of Blame: the state before the first event."""
    #: empty; mid-run: requests were live, or segments stood
    state: InfoStartState
    #: true in mid-run: what was live then is placed on an empty card, before the first event, so no figure here
    #: is that of the recording
    is_placed_anew: bool
    #: placed this way
    live_requests: int
    #: of these
    live_bytes: int
    #: in segments then, as recorded
    recorded_reserved_bytes: int


@dataclass(frozen=True, repr=False)
class FirstStep(Result):
    """`first_step` of Tune: the recording ends before the program's first step did."""
    #: as reached in replay-why/1
    reached: FirstStepReached
    #: of a recording that ends with the first optimizer step: live at once in the next step, about; null: it
    #: ends before
    next_step_bytes: Optional[int]
    #: what it would have asked for besides; null: not known
    to_come: Optional[ToCome]


@dataclass(frozen=True, repr=False)
class FitPolicy(Result):
    """An item of `fits` of Fit: one object per policy, in the order given."""
    #: as it was typed
    policy: str
    #: what a shell sets so that JAX or TensorFlow does so, NAME=value with a space between several; empty:
    #: nothing, or it is no setting of theirs
    variables: str
    #: the smallest card on which no request is refused, of those tried, and on no larger one either; null: none
    #: was found
    smallest_card_bytes: Optional[int]
    #: reserved on it at most
    peak_reserved_bytes: Optional[int]
    #: calls that reached its driver
    device_calls: Optional[int]
    #: modelled time of these calls
    device_time_ns: Optional[int]
    #: of the card, at its peak, where the policies compare: on the card that --device names, or on the smallest
    #: named one on which any of them runs; null: a request is refused there
    card_peak_bytes: Optional[int]
    #: no smaller card was found on which it runs
    is_monotone: bool
    #: the smallest card on which it runs, although it may run out of memory on a larger one
    least_running_card_bytes: Optional[int]
    #: if not is_monotone: the largest card on which it runs out of memory
    larger_failing_card_bytes: Optional[int]
    #: the card given with --device less the smallest; null: no capacity was given
    margin_bytes: Optional[int]
    #: true: a request was refused when recorded, a part of the recording is missing, or it ends in the first
    #: step, so the program may need more than every figure here
    is_lower_bound: bool
    #: the smallest named card on which it runs; null if none does, and for a lower bound
    named_card: Optional[str]
    #: memory set aside for the CUDA context and the libraries: on the named card, or, if none is named, on the
    #: card given with --device
    context_bytes: int
    #: where that figure is from: an observation (sim/contexts.csv), the refused request of this recording, or
    #: context=; null: nothing is set aside
    context_source: Optional[str]
    #: beside the largest context that was seen on the named card it would not run
    is_tight: bool
    #: if the cut step goes on as the one before, filled in from it and not recorded; null: it cannot be filled
    #: in
    if_step_goes_on: Optional[FilledStep]
    #: sizes tried
    tried: int


@dataclass(frozen=True, repr=False)
class Fit(Result):
    """The answer of fit."""
    schema: str
    #: as it was typed
    path: str
    #: the state before the first event
    start: StartState
    #: what the recording covers
    trace: Coverage
    #: the recording ends before the program's first step did; null: it does not, or nothing tells
    first_step: Optional[FirstStep]
    #: what why says of a leak that the recording shows, whose line it is and that no card cures it; null: it
    #: shows none
    leak: Optional[str]
    #: sizes of cards are multiples of it
    granule_bytes: int
    #: most that was requested and not freed at once: no allocator needs less
    live_peak_bytes: int
    #: as trace.offline_plan_bytes of a replay
    offline_plan_bytes: Optional[int]
    #: as after --price: what a millisecond of driver time counts as
    price_bytes_per_ms: int
    #: the policy that wins: its place in fits, from 0. The rule of best of a replay, on the card that --device
    #: names, or on the smallest named card on which any of them runs; if none runs there, the one with the
    #: least smallest_card_bytes. null: no card was found for any
    best: Optional[int]
    #: --device is a size, taken as it stands: of the cards that are sold with it the one that shows least;
    #: null: it is none that cards are sold with
    sold_card: Optional[str]
    #: what that card leaves beside its CUDA context
    sold_card_left_bytes: Optional[int]
    #: one object per policy, in the order given
    fits: List[FitPolicy]


@dataclass(frozen=True, repr=False)
class TuneRecorded(Result):
    """`recorded` of Tune: the setting that the trace was recorded with, replayed."""
    #: as after --policy
    policy: str
    #: false: the record's settings mean nothing to this release, and its defaults stand here
    is_recorded: bool
    #: ok; oom: a request was refused
    outcome: str
    #: reserved at most
    peak_reserved_bytes: int
    #: requests tried again after cached memory was given back
    retries: int
    #: calls that reached the driver
    device_calls: int
    #: modelled time of these calls
    device_time_ns: int
    #: the first refused request, in the numbering of the source if it has one; null: none was refused
    oom_event: Optional[int]
    #: the smallest card on which no request is refused; null: it was not looked for or found
    smallest_card_bytes: Optional[int]


@dataclass(frozen=True, repr=False)
class Setting(Result):
    """An item of `best` of Tune: the ten best settings by their peak of the card on the trace itself."""
    #: of PYTORCH_CUDA_ALLOC_CONF; empty: it is not set
    conf: str
    #: the call that goes with it if the release has no option for it
    set_per_process_memory_fraction: Optional[float]
    #: ok; oom: a request was refused
    outcome: str
    #: reserved at most
    peak_reserved_bytes: int
    #: requests tried again after cached memory was given back
    retries: int
    #: calls that reached the driver
    device_calls: int
    #: modelled time of these calls
    device_time_ns: int
    #: the first refused request, in the numbering of the source if it has one; null: none was refused
    oom_event: Optional[int]
    #: the smallest card on which no request is refused; null: it was not looked for or found; missing in best
    smallest_card_bytes: Optional[int] = None


@dataclass(frozen=True, repr=False)
class PinnedKind(Result):
    """An item of `kinds` of Pinned: the largest groups of equal holes."""
    #: holes
    count: int
    #: of one
    hole_bytes: int
    #: requested by the live block next to each
    pinned_by_bytes: int


@dataclass(frozen=True, repr=False)
class Pinned(Result):
    """`after` of TuneWhy: with the recommended setting, at the same moment."""
    #: reserved then
    reserved_bytes: int
    #: of it free in segments in use, without whole pages of expandable ones
    pinned_bytes: int
    #: of it what could be given back
    idle_bytes: int
    #: the largest groups of equal holes
    kinds: List[PinnedKind]


@dataclass(frozen=True, repr=False)
class TuneWhy(Result):
    """`why` of Tune: free memory that cannot be given back because of live blocks, when the recorded setting ..."""
    #: that moment
    event: int
    #: with the recorded setting
    before: Pinned
    #: with the recommended setting, at the same moment
    after: Pinned


@dataclass(frozen=True, repr=False)
class TunePlayedOn(Result):
    """`played_on` of Tune: the recording played on by its own pattern, for as long again, under the best setting."""
    #: what was played again and again: its last whole step, or its later half
    turn: WhyPlayedOnTurn
    #: how many of them were played,
    turns: int
    #: and how many ran
    lasted: int


@dataclass(frozen=True, repr=False)
class TuneCopy(Result):
    """An item of `copies` of Tune: changed copies of the trace."""
    #: of the changes
    seed: int
    #: how often in a row
    rounds: int
    #: of the recommended setting, or of the best found: no request is refused
    runs: bool
    #: it is better than the recorded one, on a card between the smallest ones of both
    beats_recorded: bool
    #: none of the finalists is better on this card
    wins: bool


@dataclass(frozen=True, repr=False)
class TuneSmallestCard(Result):
    """An item of `smallest_cards` of Tune: if no setting runs."""
    #: of PYTORCH_CUDA_ALLOC_CONF; empty: it is not set
    conf: str
    #: the call that goes with it if the release has no option for it
    set_per_process_memory_fraction: Optional[float]
    #: the smallest card on which no request is refused; null: none was found
    smallest_card_bytes: Optional[int]


@dataclass(frozen=True, repr=False)
class Tune(Result):
    """The answer of tune."""
    schema: str
    #: as it was typed
    path: str
    #: the state before the first event
    start: StartState
    #: what the recording covers
    trace: Coverage
    #: a request was refused when recorded, a part of the recording is missing, or it ends in the first step, so
    #: the program may need more than every figure here
    is_lower_bound: bool
    #: the recording ends before the program's first step did; null: it does not, or nothing tells
    first_step: Optional[FirstStep]
    #: what why says of a leak that the recording shows, whose line it is and that no setting cures it; null: it
    #: shows none
    leak: Optional[str]
    #: as after --device
    device: str
    #: set aside on it for the CUDA context and the libraries
    context_bytes: int
    #: where that figure is from: an observation, the refused request of this recording, or context=; null:
    #: nothing is set aside
    context_source: Optional[str]
    #: as in replay-fit/1
    sold_card: Optional[str]
    #: as in replay-fit/1
    sold_card_left_bytes: Optional[int]
    #: the release whose settings were searched
    torch: str
    #: the program's is later, which is not known: torch is the newest known
    is_torch_later: bool
    #: where the settings are to work: named, recorded, or else linux
    platform: InfoPlatform
    #: settings tried
    tried: int
    #: as after --price: what a millisecond of driver time counts as
    price_bytes_per_ms: int
    #: most that was requested and not freed at once: no allocator needs less
    live_peak_bytes: int
    #: as trace.offline_plan_bytes of a replay
    offline_plan_bytes: Optional[int]
    #: the setting that the trace was recorded with, replayed; from a start in mid-run this is not what was
    #: recorded
    recorded: TuneRecorded
    #: null: no setting is better than the recorded one by two percent of the card, or none that would hold for
    #: another run, or the recording does not tell what follows the refused request (doc/advice.md)
    recommended: Optional[Setting]
    #: if the recording does not tell what follows the refused request: the setting under which that request is
    #: served
    serves_refused: Optional[Setting]
    #: if the program leaks: the setting under which the refused request is served, which only delays the end
    delays_leak: Optional[Setting]
    #: if nothing is recommended: what is better on this recording, although most of its copies do not confirm
    #: it
    best_here_only: Optional[Setting]
    #: of recommended: it saves this recording, but runs out of memory in most of its copies
    caution: Optional[str]
    #: free memory that cannot be given back because of live blocks, when the recorded setting ran out of memory
    #: or reserved most
    why: Optional[TuneWhy]
    #: if the cut step goes on as the one before, filled in from it and not recorded; null: it cannot be filled
    #: in
    if_step_goes_on: Optional[FilledStep]
    #: the recording played on by its own pattern, for as long again, under the best setting; null: the recorded
    #: setting is refused nothing, nothing can be played on, or the later half does not last, which tells
    #: nothing
    played_on: Optional[TunePlayedOn]
    #: the ten best settings by their peak of the card on the trace itself
    best: List[Setting]
    #: changed copies of the trace; empty if no setting runs
    copies: List[TuneCopy]
    #: if no setting runs: what the card would have to be, ascending
    smallest_cards: List[TuneSmallestCard]


@dataclass(frozen=True, repr=False)
class BlamePart(Result):
    """An item of `parts` of Blame: one object per rule."""
    #: rounding, segment_sizes, size_wall, streams, pools, whole_blocks, late_uses, fixed_segments or order
    rule: str
    #: the rule as the text names it
    words: str
    #: what the rule does
    does: str
    #: the recording has what the rule is about; otherwise its bytes are 0
    can_matter: bool
    #: what it holds; below 0: it saves so much
    bytes: int


@dataclass(frozen=True, repr=False)
class Blame(Result):
    """The answer of blame."""
    schema: str
    #: as it was typed
    path: str
    #: whose rules these are; of a recording without settings: best-fit
    policy: str
    #: the card, as after --device
    device: str
    #: the recording does not tell its card, and none was named
    is_device_assumed: bool
    #: the state before the first event
    start: StartState
    #: what the recording covers
    trace: Coverage
    #: reserved at most
    peak_reserved_bytes: int
    #: most that was requested and not freed at once: no allocator needs less
    live_peak_bytes: int
    #: the card refuses a request: only what came before it is explained
    is_cut: bool
    #: runs that the parts rest on
    replays: int
    #: one object per rule; the bytes sum to peak_reserved_bytes less live_peak_bytes
    parts: List[BlamePart]
    #: reserved at most with expandable_segments:True and all else as it is; null: that is the setting already,
    #: or the card then refuses a request
    expandable_reserved_bytes: Optional[int]
    #: the setting exists in the release and on the platform, and less is reserved with it
    expandable_helps: bool
    #: what can be done about the largest part, as the text says it; empty: no rule holds anything
    help: str


@dataclass(frozen=True, repr=False)
class ShrinkProgram(Result):
    """An item of `program` of Shrink: the calls that are left, in order."""
    #: request, free, free-later (while a stream still uses it), complete or flush
    call: ShrinkProgramCall
    #: which request is made or freed, from 1
    request: Optional[int]
    #: its size
    bytes: int
    #: its stream
    stream: int


@dataclass(frozen=True, repr=False)
class Shrink(Result):
    """The answer of shrink."""
    schema: str
    #: as it was typed
    path: str
    #: what was kept, as it was typed
    keep: str
    #: the policy that runs the calls; of a recording without settings: best-fit
    policy: str
    #: the card, as after --device
    device: str
    #: the recording does not tell its card, and none was named
    is_device_assumed: bool
    #: of the card for what is left: that of device, or a smaller one on which fewer calls tell the same story
    card_bytes: Optional[int]
    #: requests, frees and flushes of the recording
    calls_before: int
    #: of them that are left
    calls: int
    #: nothing more can be taken out by itself; false: it was interrupted, or took too long
    is_smallest: bool
    #: changes that were tried
    runs: int
    #: that are left
    streams: int
    #: private pools are needed
    has_pools: bool
    #: frees that complete later are needed
    has_late_uses: bool
    #: of what is left, under the policy, at most
    peak_reserved_bytes: int
    #: the same under the other policy
    other_reserved_bytes: Optional[int]
    #: the calls that are left, in order
    program: List[ShrinkProgram]
    #: what why says of what is left; null unless a refusal under the recorded policy was kept
    verdict: Optional[WhyVerdict]
    #: the same of the recording, without call stacks
    verdict_before: Optional[WhyVerdict]
    #: why --script could not be written; -o is
    no_script: Optional[str]


@dataclass(frozen=True, repr=False)
class AdversaryProgram(Result):
    """An item of `program` of Adversary: its calls, in order."""
    #: of the program
    call: AdversaryProgramCall
    #: which request is made, freed or used, from 1; else 0
    request: int
    #: its size; else 0
    bytes: int


@dataclass(frozen=True, repr=False)
class AdversaryOutcome(Result):
    """An item of `outcomes` of Adversary: what each of two does with it."""
    #: reserved at most
    peak_reserved_bytes: int
    #: the card refuses it a request
    is_refused: bool


@dataclass(frozen=True, repr=False)
class AdversaryByCall(Result):
    """An item of `by_calls` of Adversary: the best programs with more and more calls, each better than all ..."""
    #: of this program
    calls: int
    #: as above
    score: float


@dataclass(frozen=True, repr=False)
class AdversaryRobson(Result):
    """`robson` of Adversary: Robson's bounds for the sizes of this program, as multiples of what is live, for ..."""
    #: the largest request divided by the smallest
    size_ratio: float
    #: no allocator that leaves blocks in their places stays below it (1974)
    any: float
    #: first fit needs about so much at most (1977)
    first_fit: float


@dataclass(frozen=True, repr=False)
class Adversary(Result):
    """The answer of adversary."""
    schema: str
    #: as they were typed: two to separate, or one to drive
    policies: List[str]
    #: the card on which two are compared, as after --device
    device: str
    #: as after --seed
    seed: int
    #: as after --effort
    effort: int
    #: as --pools
    has_pools: bool
    #: programs and changes of programs
    tried: int
    #: false: nothing found separates them, which is no proof that nothing does
    is_found: bool
    #: a signal ended the search: the best so far is told
    is_interrupted: bool
    #: no program of fewer calls separates them whose sizes are of plain_sizes: all were tried
    none_below: Optional[int]
    #: the sizes that were tried in every order, in bytes
    plain_sizes: List[int]
    #: of the program that was found
    calls: int
    #: its calls, in order
    program: List[AdversaryProgram]
    #: most that is live at once: no allocator needs less
    live_peak_bytes: int
    #: what each of two does with it; of one: none
    outcomes: List[AdversaryOutcome]
    #: of one: the largest card that refuses it a request; 1 GiB is live at most
    refusing_card_bytes: Optional[int]
    #: of two: the difference of the peaks as a share of the larger, 1 if one is refused; of one: that card as a
    #: multiple of 1 GiB
    score: float
    #: the best programs with more and more calls, each better than all shorter ones
    by_calls: List[AdversaryByCall]
    #: Robson's bounds for the sizes of this program, as multiples of what is live, for programs as long as need
    #: be
    robson: Optional[AdversaryRobson]
    #: why --script could not be written; -o is
    no_script: Optional[str]


@dataclass(frozen=True, repr=False)
class Compared(Result):
    """`reserved` of VerifyFreeRunning: bytes reserved after each event."""
    #: decisions
    compared: int
    #: those that are as recorded
    equal: int
    #: of placements: the record does not tell what decided; they are in neither of the others
    unknowable: Optional[int] = None


@dataclass(frozen=True, repr=False)
class Predicted(Result):
    """`oom` of VerifyFreeRunning: out-of-memory errors."""
    #: when recorded
    recorded: int
    #: by the policy
    predicted: int


@dataclass(frozen=True, repr=False)
class Difference(Result):
    """`first_difference` of Verify: the first decision that differs."""
    #: in the source's own numbering
    event: int
    #: what was expected, what was recorded, and the blocks around
    text: str


@dataclass(frozen=True, repr=False)
class VerifyFreeRunning(Result):
    """`free_running` of Verify: the same members if the policy read only the program's own requests, and its ..."""
    #: following the record: was each request placed where it was recorded?
    placements: Compared
    #: each recorded segment event, the same way
    segments: Compared
    #: bytes reserved after each event
    reserved: Compared
    #: out-of-memory errors
    oom: Predicted
    #: the first decision that differs
    first_difference: Optional[Difference]


@dataclass(frozen=True, repr=False)
class Verify(Result):
    """The answer of verify."""
    schema: str
    #: following the record: was each request placed where it was recorded?
    placements: Compared
    #: each recorded segment event, the same way
    segments: Compared
    #: bytes reserved after each event
    reserved: Compared
    #: out-of-memory errors
    oom: Predicted
    #: the same members if the policy read only the program's own requests, and its own first_difference; null
    #: with free_running_reason
    free_running: Optional[VerifyFreeRunning]
    #: the first decision that differs
    first_difference: Optional[Difference]
    #: what the policy ran with
    settings: str
    #: the release whose decisions were compared
    version: str
    #: what the record does not hold, and how it was found
    inferred: Optional[str]
    #: what the importer could not tell from the recording, and what it assumed; a difference may come from it
    notes: List[str]
    #: why that was not done
    free_running_reason: Optional[str] = None


@dataclass(frozen=True, repr=False)
class Figure(Result):
    """An item of `fields` of DiffRun: the figures that differ."""
    #: of traces one of those below; of runs a column of a replay's --csv, or of the trace as in the database
    #: (trace_path, ...)
    name: str
    #: of the first
    a: Optional[Union[float, str]]
    #: of the second
    b: Optional[Union[float, str]]
    #: b less a; null if one is no number
    difference: Optional[float]
    #: of a; null if there is no difference, or a is 0
    percent: Optional[float]


@dataclass(frozen=True, repr=False)
class Step(Result):
    """`b` of DiffSteps: of the second."""
    #: mark: between the last two marks of the name that is most frequent; repetition: the last of the steps
    #: that repeat each other in size, stream and pool; none: the whole trace
    found_by: str
    #: that name; null: it was not found by marks
    mark: Optional[str]
    #: made in the step
    requests: int
    #: of the other steps that repeat it
    repeated_requests: int
    #: whole steps recorded, as info counts them; 0: none
    whole: int
    #: made in the step
    requested_bytes: int
    #: most requested and not freed at once, in the step
    peak_requested_bytes: int
    #: the least, in the step
    least_requested_bytes: int
    #: from its first event to its last
    duration_ns: int


@dataclass(frozen=True, repr=False)
class DiffSteps(Result):
    """`steps` of Diff: of traces."""
    #: of the first
    a: Step
    #: of the second
    b: Step


@dataclass(frozen=True, repr=False)
class Event(Result):
    """`b` of DiffFirstDifference: of the second."""
    #: in its trace's own numbering
    event: int
    #: as in events_by_kind of replay-info/1
    kind: EventKind
    #: of the request
    bytes: int
    #: its stream
    stream: int
    #: its pool
    pool: int
    #: of the program; null: not recorded
    line: Optional[str]


@dataclass(frozen=True, repr=False)
class DiffFirstDifference(Result):
    """`first_difference` of Diff: of traces."""
    #: before it
    equal_events: int
    #: of the first; null: it has ended
    a: Optional[Event]
    #: of the second; null: it has ended
    b: Optional[Event]


@dataclass(frozen=True, repr=False)
class Requests(Result):
    """`b` of DiffLine: of the second."""
    #: live at the peak, as requested
    peak_bytes: int
    #: live at the peak
    peak_requests: int
    #: made in the step, as requested
    step_bytes: int
    #: made in the step
    step_requests: int


@dataclass(frozen=True, repr=False)
class DiffSizeClass(Result):
    """An item of `size_classes` of Diff: of traces."""
    #: from PyTorch's small segments
    is_small: bool
    #: requests above this size
    above_bytes: int
    #: up to this one
    up_to_bytes: int
    #: of the first
    a: Requests
    #: of the second
    b: Requests
    #: b less a
    peak_difference_bytes: int
    #: b less a
    step_difference_bytes: int


@dataclass(frozen=True, repr=False)
class DiffLine(Result):
    """An item of `lines` of Diff: of traces."""
    #: the innermost frame in a Python file outside the folder torch, as B has it
    line: str
    #: the same line in A if an edit moved it; else null
    line_in_a: Optional[str]
    #: of the first
    a: Requests
    #: of the second
    b: Requests
    #: b less a
    peak_difference_bytes: int
    #: b less a
    step_difference_bytes: int


@dataclass(frozen=True, repr=False)
class Placement(Result):
    """`b` of DiffFirstPlacement: under the second."""
    #: it was refused
    is_refused: bool
    #: of the block
    address: int
    #: of the block
    bytes: int


@dataclass(frozen=True, repr=False)
class DiffFirstPlacement(Result):
    """`first_placement` of Diff: of policies."""
    #: that asks for it
    event: int
    #: as asked for
    requested_bytes: int
    #: of the program; null: not recorded
    line: Optional[str]
    #: under the first
    a: Placement
    #: under the second
    b: Placement


@dataclass(frozen=True, repr=False)
class DeviceCall(Result):
    """`b` of DiffFirstDeviceCall: of the second."""
    #: that it was made in
    event: int
    #: its name
    call: str
    #: its size
    bytes: int


@dataclass(frozen=True, repr=False)
class DiffFirstDeviceCall(Result):
    """`first_device_call` of Diff: of policies."""
    #: of the first; null: it makes no more calls
    a: Optional[DeviceCall]
    #: of the second; null: it makes no more calls
    b: Optional[DeviceCall]


@dataclass(frozen=True, repr=False)
class ComparedRun(Result):
    """`b` of DiffRun: of the second."""
    #: as it was typed
    trace_path: str
    #: as it was typed
    policy: str
    #: as after --device
    device: str


@dataclass(frozen=True, repr=False)
class DiffRun(Result):
    """An item of `runs` of Diff: of policies and runs."""
    #: of the first; null: it has no counterpart
    a: Optional[ComparedRun]
    #: of the second; null: it has no counterpart
    b: Optional[ComparedRun]
    #: the figures that differ; missing if one has no counterpart
    fields: Optional[List[Figure]] = None


@dataclass(frozen=True, repr=False)
class Diff(Result):
    """The answer of diff."""
    schema: str
    #: traces; policies: two on one trace; runs: finished ones
    kind: DiffKind
    #: as it was typed
    a: str
    #: as it was typed
    b: str
    #: nothing differs: of traces, every event in kind, size, stream and pool; of policies, every placement,
    #: device call and figure; of runs, every figure of every run
    is_same: bool
    #: of traces: the figures that differ
    fields: Optional[List[Figure]] = None
    #: of traces: one step of each
    steps: Optional[DiffSteps] = None
    #: of traces: the first event that differs
    first_difference: Optional[DiffFirstDifference] = None
    #: of traces: classes of requests that differ, most first
    size_classes: Optional[List[DiffSizeClass]] = None
    #: of traces: lines of the program that differ, most first
    lines: Optional[List[DiffLine]] = None
    #: of policies: the first request placed differently
    first_placement: Optional[DiffFirstPlacement] = None
    #: of policies: the first call to the driver that differs
    first_device_call: Optional[DiffFirstDeviceCall] = None
    #: of policies and runs: those that are compared
    runs: Optional[List[DiffRun]] = None
    #: on a page only: runs that are the same, which it leaves out
    n_same: Optional[int] = None
    #: on a page only: runs that differ and are left out
    n_left_out: Optional[int] = None


@dataclass(frozen=True, repr=False)
class PredictRange(Result):
    """`range` of Predict: of --range."""
    #: what varies
    name: str
    #: from
    low: int
    #: to
    high: int
    #: by
    step: int


@dataclass(frozen=True, repr=False)
class PeakRangeSource(Result):
    """An item of `sources` of PeakRange: what makes it a range."""
    #: addresses, workspaces, sizes, waits, loops, branches, cut, unseen, search
    source: str
    #: what it takes off
    below_bytes: int
    #: what it adds; null: not known (unseen)
    above_bytes: Optional[int]


@dataclass(frozen=True, repr=False)
class PeakRange(Result):
    """`card_range` of PredictedCard: what card_peak_bytes may be."""
    #: at least
    low_bytes: int
    #: most likely
    expected_bytes: int
    #: at most; null: what follows the steps was not seen, and may take more
    high_bytes: Optional[int]
    #: what makes it a range
    sources: List[PeakRangeSource]


@dataclass(frozen=True, repr=False)
class PredictedCard(Result):
    """An item of `cards` of Predict: one object per card and setting, in the order given."""
    #: as typed
    card: str
    #: the card that a size stands for: a10-24g for 24GiB, the one sold with it that shows least; null: a card
    #: was named, or a bare size
    taken_for: Optional[str]
    #: as typed; null: the program's own setting
    policy: Optional[str]
    #: at value, and at the high end of card_range; null: interrupted before anything was known, or the program
    #: does not settle
    fits: Optional[bool]
    #: it does not surely, and somewhere in the range it does: what follows the steps may not have been seen
    may_fit: bool
    #: if the program adapts to the card: the last request that was refused there, after which it went on. With
    #: --range it then does not fit
    refused_bytes: Optional[int]
    #: the first line, as FILE:LINE, that looked at the card's memory: the figures hold for this card alone
    looks_at_memory: Optional[str]
    #: if it does not settle: about how many steps the card lasts for
    lasts_steps: Optional[int]
    #: reserved at most: on this card if it fits, else on one without an end
    peak_reserved_bytes: Optional[int]
    #: the same of the whole card, with context and others
    card_peak_bytes: Optional[int]
    #: what card_peak_bytes may be; equal if nothing is open
    card_range: Optional[PeakRange]
    #: that the card has
    total_bytes: Optional[int]
    #: memory set aside for the CUDA context and the libraries
    context_bytes: Optional[int]
    #: set aside for other processes of the program that were on the card at the same time: their peaks and
    #: contexts, added up
    siblings_bytes: Optional[int]
    #: where the context's figure is from; null: nothing is set aside
    context_source: Optional[str]
    #: of the range, that the figures are of: the largest that fits, else the least
    value: Optional[int]
    #: the largest value known to fit; null: none is, or there is no range
    largest: Optional[int]
    #: the least value known not to fit
    fails: Optional[int]
    #: the search came to its end
    is_largest_found: bool
    #: no value was seen to fit above one that does not
    is_monotone: bool


@dataclass(frozen=True, repr=False)
class PredictSetting(Result):
    """`setting` of Predict: what replay tune recommends on the first card."""
    #: of PYTORCH_CUDA_ALLOC_CONF; empty: it is not set
    conf: str
    #: the call that goes with it if the release has no option for it
    set_per_process_memory_fraction: Optional[float]
    #: the smallest card with it
    smallest_card_bytes: Optional[int]
    #: without it
    instead_of_bytes: Optional[int]


@dataclass(frozen=True, repr=False)
class JaxMemoryLever(Result):
    """An item of `levers` of JaxMemory: what one may do about its memory, in JAX's words."""
    #: a variable of the environment, or what one writes in the program
    lever: str
    #: the recorded requests were replayed with it, or the program was run with it (donation); false: nothing is
    #: known of it
    tried: bool
    #: of the card then, on one with room, with what CUDA and its libraries hold; of donation that was not run,
    #: so much or more, because XLA compiles anew; null: not tried
    card_bytes: Optional[int]
    #: the least region then, if it is another: of donation that was not run, if it is arguments that are freed
    #: after a run, so much or more
    region_bytes: Optional[int]


@dataclass(frozen=True, repr=False)
class JaxMemoryDonation(Result):
    """`donation` of JaxMemory."""
    #: that would donate most, as XLA calls it
    program: str
    #: of it; 0: which buffers they are was not found
    arguments: int
    #: of these in all
    bytes: int
    #: the program was run once more, with these donated:
    run: bool
    #: donate_argnums of that run, "0,1"; null: it was not run
    argnums: Optional[str]
    #: arguments that were not donated in a run, because each holds an array that the call has in two places;
    #: null: none
    shared: Optional[str]
    #: in which that run ended, most likely because an argument is read after the call; the lever's figures are
    #: then the replay's; null: none
    error: Optional[str]


@dataclass(frozen=True, repr=False)
class JaxMemory(Result):
    """`jax` of Predict: what JAX's own allocator takes, in the run that the first row rests on."""
    #: the most that its blocks took, as Device.memory_stats() has it
    peak_bytes_in_use: int
    #: the most that was requested and not freed; null: requests were not recorded
    live_bytes: Optional[int]
    #: the most that it had from the driver
    pool_bytes: int
    #: that it may take of the card that the program ran on
    limit_bytes: int
    #: it takes all of this at its start
    preallocates: bool
    #: the least region, to a MiB, in which the requests of the least value are served; null: not found
    region_bytes: Optional[int]
    #: XLA_CLIENT_MEM_FRACTION that gives such a region on the first card; null: not below what JAX takes
    least_mem_fraction: Optional[float]
    #: what one may do about its memory, in JAX's words
    levers: List[JaxMemoryLever]
    #: arguments that could be donated; null: no function of the program's own has one of the shape of a result
    #: that is not donated
    donation: Optional[JaxMemoryDonation]


@dataclass(frozen=True, repr=False)
class Predict(Result):
    """The answer of predict."""
    schema: str
    #: the first line that a person sees
    verdict: str
    #: it fits in every row, and is_whole: exit status 0
    fits: bool
    #: it does not surely, and in every row some of its range fits: exit status 4
    may_fit: bool
    #: every row is known, from a run that ended by itself or showed whole steps, settled and did not fail
    is_whole: bool
    #: of --range; null: none was asked for
    range: Optional[PredictRange]
    #: one object per card and setting, in the order given; without --device one of the memory of the largest
    #: named card, and one of smallest_card
    cards: List[PredictedCard]
    #: the smallest card for the first row's setting and the least value, of that row's class; the program was
    #: run there too. null: none was found
    smallest_card_bytes: Optional[int]
    #: the smallest named one; null: none was found
    smallest_card: Optional[str]
    #: a larger card on which it runs out of memory; null: none of those tried
    larger_failing_card_bytes: Optional[int]
    #: what the program holds when it has requested most, by category as in replay-who/1; null: it does not use
    #: PyTorch's allocator
    categories: Optional[List[HeldCategory]]
    #: what replay tune recommends on the first card; null: nothing, or a setting was typed
    setting: Optional[PredictSetting]
    #: what JAX's own allocator takes, in the run that the first row rests on; null: JAX did not use it on the
    #: card
    jax: Optional[JaxMemory]
    #: the release; null: the program does not use PyTorch's allocator, or it is not known
    torch: Optional[str]
    #: how the run that the first row rests on came to its end: by itself, steps repeat, too long, interrupted
    ended: Optional[str]
    #: the program came to its end, if need be with loops cut short after equal steps, or its source shows that
    #: nothing follows them; false: what it does after them, or after it was stopped, is in no figure
    is_seen_to_end: bool
    #: its exit status, if it ended by itself
    status: Optional[int]
    #: of the first lines, as FILE:LINE, whose sizes depend on values that are not computed: the largest are
    #: assumed
    unknown_sizes: List[str]
    #: of the first lines, as FILE:LINE, whose loop was ended although the value that ends it is not computed: a
    #: program that ends it earlier takes less, one that goes on longer takes more
    ended_loops: List[str]
    #: cards[0].card_peak_bytes with the least of these sizes; null: all sizes are known, or the program does
    #: not run with them
    least_card_peak_bytes: Optional[int]
    #: the program searches the fastest algorithms of convolutions (cudnn.benchmark): what a card reserves at
    #: most may be above card_range
    has_algorithm_search: bool
    #: the line that names why the program, or a process of it, failed; null: it did not, or it was refused
    #: memory
    failure: Optional[str]
    #: equal steps that were seen; null: none
    whole_steps: Optional[int]
    #: by how much live memory grows from step to step; null: not at all, or by less than 1% in 1,000 steps
    growth_bytes_per_step: Optional[int]
    #: the growth comes once in so many steps; null: in each, or there is none
    growth_every_steps: Optional[int]
    #: the line that holds more and more, as replay why of the recording names it; null: it is not known
    growth_line: Optional[str]
    #: a line of the loop that makes the steps, as FILE:LINE, whose branch is taken too seldom to be seen twice:
    #: what it may keep is in no figure. null: none is known
    unseen_branch: Optional[str]
    #: turns of the loop from one time to the next
    unseen_branch_turns: Optional[int]
    #: of the program
    runs: int
    #: what is assumed, sentences
    assumptions: List[str]
    #: what the program wrote in its folders was thrown away
    files_are_kept_apart: bool
    #: paths that it wrote in the last run
    written: List[str]
    #: nothing that the program wrote could not be listed
    written_is_whole: bool
    #: the trace of that run; null: there is none
    recording: Optional[str]
    #: what the program printed; null: there is none
    log: Optional[str]


@dataclass(frozen=True, repr=False)
class ServeCardTry(Result):
    """An item of `tries` of ServeCard: other choices, each tried by a start (--try, --range)."""
    #: that was added to the server's words
    option: str
    #: of the option
    value: Optional[str]
    #: as above
    verdict: ServeCardVerdict
    #: as above
    end: ServeCardEnd
    #: what one that ended otherwise says
    failure: Optional[str]
    #: until it was ready, or ended
    seconds: int
    #: that its processes took of the fullest card, by the simulated one
    peak_bytes: int
    #: left for the KV cache; below 0: nothing
    cache_bytes: Optional[int]
    #: that the cache holds
    tokens: Optional[int]
    #: by the server
    graphs_captured_bytes: Optional[int]
    #: of the maximum length at once
    requests: Optional[float]


@dataclass(frozen=True, repr=False)
class ServeCard(Result):
    """An item of `cards` of Serve: as after --device."""
    #: as typed
    card: str
    #: as the server had it
    device: str
    #: fits, may-fit (what is left beside one request, or beside all that it holds at its peak, is less than
    #: libraries and the driver may take), does-not-fit, unknown
    verdict: ServeCardVerdict
    #: ready, no-cache, request-too-long, share-not-free, refused (out of memory), died-later, other
    end: ServeCardEnd
    #: what one that ended otherwise says
    failure: Optional[str]
    #: vllm, sglang
    server: ServeCardServer
    #: of the server
    version: Optional[str]
    #: until it was ready, or ended
    seconds: int
    #: set aside for the context; 0: none, or typed
    context_bytes: int
    #: that its processes took of the fullest card, by the simulated one
    peak_bytes: int
    #: of the card; what the server tells is rounded to 0.01 GiB
    total_bytes: Optional[int]
    #: when the server starts; of SGLang before its weights
    free_bytes: Optional[int]
    #: what it may take; of SGLang for weights and cache
    share_bytes: Optional[int]
    #: the same, of the card; of SGLang, --mem-fraction-static, of what is free when it starts
    utilization: Optional[float]
    #: of the model, on one card
    weights_bytes: Optional[int]
    #: with what is held beside the weights
    consumed_bytes: Optional[int]
    #: at the profiled peak
    activations_bytes: Optional[int]
    #: by the server
    graphs_estimated_bytes: Optional[int]
    #: of that the first of a kind, with what trying it took and gave back; the largest
    first_graph_estimated_bytes: Optional[int]
    #: of the cache
    is_estimate_taken_off: bool
    #: by the server, then
    graphs_captured_bytes: Optional[int]
    #: left for the KV cache; below 0: nothing
    cache_bytes: Optional[int]
    #: by --kv-cache-memory-bytes, so that it is not what was left
    is_cache_given: bool
    #: of what is free at its start, beside all that it takes at its peak; null: no cache was given
    free_beside_bytes: Optional[int]
    #: of SGLang: free when it is ready, for all that it computes
    left_bytes: Optional[int]
    #: of SGLang: of what is free when it starts, at its peak
    never_used_bytes: Optional[int]
    #: on a card, after what libraries and the driver may take
    cache_least_bytes: Optional[int]
    #: that the cache holds
    tokens: Optional[int]
    #: of cache_least_bytes
    tokens_least: Optional[int]
    #: of the cache for a token, on one card
    token_bytes: Optional[float]
    #: the maximum length
    request_tokens: Optional[int]
    #: of the cache for a request of that length
    request_bytes: Optional[int]
    #: of that length at once
    requests: Optional[float]
    #: by the server, of one that was too long
    longest_tokens: Optional[int]
    #: with which it starts; computed
    least_utilization: Optional[float]
    #: with which all that it holds has room; computed
    most_utilization: Optional[float]
    #: with that; computed
    most_tokens: Optional[int]
    #: with a cache of 8 bits; computed; null: not by arithmetic
    small_type_tokens: Optional[int]
    #: of the request that the card refused
    refused_bytes: Optional[int]
    #: of --kv-cache-memory-bytes, so that it has room; computed
    most_cache_given_bytes: Optional[int]
    #: with which it has room; computed; what comes after it is not known
    most_utilization_after_refusal: Optional[float]
    #: the least utilization with which it started here; a hundredth less did not; null: not tried, or not found
    least_tried: Optional[float]
    #: the most with which it started here; a hundredth more did not; null: not tried, or not found
    most_tried: Optional[float]
    #: that it was asked for once it was ready (--ask): a full step
    asked_prompts: Optional[int]
    #: of each
    asked_prompt_tokens: Optional[int]
    #: of HTTP, of its answer; 0: it gave none
    asked_status: Optional[int]
    #: of HTTP, asked for the logprobs of the prompts as well, after it had answered; 0: no answer
    asked_logprobs_status: Optional[int]
    #: the file whose requests were played (--trace)
    load: Optional[str]
    #: of the file, at most 100,000
    load_requests: Optional[int]
    #: rows of the file with 0 tokens, of a prompt or of an answer, left out
    load_empty: Optional[int]
    #: of load_requests, left out of all that follows
    load_too_long: Optional[int]
    #: requests a second, as recorded
    load_rate: Optional[float]
    #: that a step takes; assumed
    load_step_us: Optional[int]
    #: of the cache that they were played on
    load_tokens: Optional[int]
    #: requests that the server runs at once
    load_running_most: Optional[int]
    #: that ran at once
    load_running_peak: Optional[int]
    #: of the cache in use, at most
    load_peak_tokens: Optional[int]
    #: requests that waited for room in the cache, each once; whoever is preempted waits, too
    load_waited: Optional[int]
    #: of those, from arrival or from when one was preempted
    load_longest_wait_us: Optional[int]
    #: times that one was preempted
    load_preempted: Optional[int]
    #: the most requests a second at which none waits for room, to a thousandth; null: whatever the rate, or not
    #: found
    load_rate_most: Optional[float]
    #: prompts that begin alike share blocks: the file has ids of their beginnings, and the server keeps them
    load_shares_prompts: Optional[bool]
    #: of prompts, that others had computed
    load_shared_tokens: Optional[int]
    #: beginnings of prompts, of an id each, that went to make room
    load_evicted: Optional[int]
    #: none waits, however close they come, though the file has more than run at once
    load_is_rate_unlimited: bool
    #: what is in the way if all come at once: cache, max-num-seqs, step (its tokens), file (too few requests to
    #: tell a largest rate: all of them can run at once without a wait)
    load_limit: Optional[str]
    #: that the range is of
    range_option: Optional[str]
    #: the largest value of it tried with which it starts
    largest_started: Optional[int]
    #: the least tried with which it does not
    least_refused: Optional[int]
    #: other choices, each tried by a start (--try, --range)
    tries: List[ServeCardTry]


@dataclass(frozen=True, repr=False)
class Serve(Result):
    """The answer of serve."""
    schema: str
    #: it starts on every card
    fits: bool
    #: --load-format dummy was added to its words
    has_dummy_weights: bool
    #: --skip-tokenizer-init was added to its words
    has_dummy_tokenizer: bool
    #: as after --device
    cards: List[ServeCard]


@dataclass(frozen=True, repr=False)
class BisectedVersion(Result):
    """An item of `tried` of Bisect: the versions after good that were tried, oldest first."""
    #: the whole name of a commit; the number of a release
    name: str
    #: when its author made it, YYYY-MM-DD; null: a release
    day: Optional[str]
    #: of the commit; null: a release
    author: Optional[str]
    #: the first line of the commit's message; null: a release
    subject: Optional[str]
    #: the program was run, or the version could not be had
    is_tried: bool
    #: reserved at most, as replay predict expects it; of a JAX program, held by its allocator. null: not known
    peak_bytes: Optional[int]
    #: memory grows with each step: peak_bytes is what was seen
    grows: bool
    #: why it did not run, the program's own last words mostly; null: it did, or was not tried
    reason: Optional[str]


@dataclass(frozen=True, repr=False)
class GrownRow(Result):
    """An item of `modules` of BisectGrew: nn.Modules, likewise."""
    #: the line as FILE:LINE FUNCTION (A: what it was before the change), the category, or the module
    name: str
    #: requested before
    before_bytes: int
    #: requested with the change
    after_bytes: int


@dataclass(frozen=True, repr=False)
class BisectGrew(Result):
    """`grew` of Bisect: what the program has requested when that is most."""
    #: in all, before
    before_bytes: int
    #: in all, with the change
    after_bytes: int
    #: lines of the program that differ: what grew first, most first
    lines: List[GrownRow]
    #: categories as in replay-who/1, likewise
    categories: List[GrownRow]
    #: nn.Modules, likewise; none if requests have no labels
    modules: List[GrownRow]


@dataclass(frozen=True, repr=False)
class Bisect(Result):
    """The answer of bisect."""
    schema: str
    #: named: one version is the first whose peak is high; open: one of candidates, of which all but the last
    #: did not run; not higher: at the bad version the peak is no higher; interrupted
    end: BisectEnd
    #: whose releases were tried; null: commits of the repository
    package: Optional[str]
    #: the card, as typed; null: one as large as the largest named one
    device: Optional[str]
    #: the version at --good
    good: BisectedVersion
    #: the version at --bad
    bad: BisectedVersion
    #: the first version whose peak is high; null: end is not named
    named: Optional[BisectedVersion]
    #: the version before it; of a merge the parent with the highest peak
    before: Optional[BisectedVersion]
    #: a peak above this counted as high
    raised_above_bytes: Optional[int]
    #: by how much the peak had risen from good to before; 0: by no more than counts; null: no version is named
    rose_before_bytes: Optional[int]
    #: by how much it rises from named to bad; likewise
    rises_after_bytes: Optional[int]
    #: one of these raised the peak; one alone if it is named
    candidates: List[BisectedVersion]
    #: the versions after good that were tried, oldest first
    tried: List[BisectedVersion]
    #: from good to bad, both counted
    versions: int
    #: versions that were tried
    runs: int
    #: of them that did not run
    not_run: int
    #: the tree has changes that are in no commit; they were not tried
    has_changes: bool
    #: what the program has requested when that is most; null: no version is named
    grew: Optional[BisectGrew]
