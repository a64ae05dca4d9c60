import { groupDigits } from "./group-digits.ts"

// The limits that a user can meet. Those that an operator can change are settings (`WIRE_MAX_BODY`); `limitTable` has both, for
// docs/security.md. Bounds that only keep our own work small stand where they are used.
// Plain numbers: a bundler leaves out a number that is not used, but not a product.

/** The most work that one JSON text may be: about 100 ms. */
export const maxJsonWork = 1_000_000

/** Requests that begin in one turn of the event loop. */
export const requestInOneTurn = 16
export const requestJsonLevels = 512
/** Lists and records that are made at a time: each takes a few mebibytes meanwhile. */
export const requestMadeTogether = 32
/** Answers of fewer characters are not counted. */
export const requestSmallAnswer = 16_384
export const requestPageBytes = 1_048_576
/** Max bytes of a delivery to a webhook, unless WIRE_MAX_BODY is smaller. */
export const hookBytes = 1_048_576
export const requestArrivalMs = 60_000
export const requestIdempotencyKeyLength = 255
// Whatever enters a run is searched for all of its secrets: these bound the memory that the search takes (10 MB or so).
export const requestSecrets = 256
export const requestSecretBytes = 16_384
export const requestAllSecretsBytes = 65_536
/** Files in the input of a run. */
export const requestFiles = 1_000
/** What `text_of` reads at most. */
export const fileTextBytes = 1_048_576
/** Contents of files that one turn of a model, or one call of a tool, is given inline. */
export const stepInlineBytes = 16_777_216
/** Contents of files that one call of an MCP tool is given: as a data URL, in its arguments. */
export const toolFileBytes = 1_048_576

export const runOpenQuestions = 1_000
/** Unless the request says otherwise. */
export const runTimeMs = 600_000
/** Unless the request says otherwise: model and tool calls at a time. */
export const runCalls = 16
/** Items and bytes of one batch of model calls. */
export const batchItems = 10_000
export const batchBytes = 100 * 1024 * 1024
/** Of one file of results. */
export const batchResultBytes = 1024 * 1024 * 1024
/** Fewer are called directly. */
export const leastBatchItems = 5
/** Bytes of JSON of the largest value that an expression may make, unless the operator allows larger requests. */
export const runValueBytes = 16_777_216
/** Values nested deeper than this fit nothing: those who handle them recurse. */
export const runValueLevels = 500
/** What all expressions of a run may work together before anything comes in from outside. */
export const runWork = 50_331_648
/** What each byte that comes in from outside adds to that. */
export const runWorkPerByte = 128
/** Characters. A list shows the questions whole. */
export const runQuestionLength = 262_144
export const runApproverLength = 1_000
export const runOutputBytes = 8_388_608
/** Values over this appear in events by their size alone. Nobody is asked to approve more, and no answer is larger. */
export const runShownBytes = 262_144
/** How much of an answer that does not fit is shown to the model again, and in events. */
export const runQuotedBytes = 65_536
/** What the events of a run take whose output is followed to its origins. */
export const runFollowedBytes = 16_777_216
/** What the request of one call, and all of a run, may take in the log; shared parts count once. Others are kept without their bodies. */
export const runKeptRequestBytes = 1_048_576
export const runKeptRequestsBytes = 8_388_608
/** Workflows that are called within each other. */
export const runCalledLevels = 8
/** Workflows that a run calls, nested ones included, unless the operator allows more. */
export const runCalledWorkflows = 10_000
/** How often the process of a run dies within seconds of resuming it alone, without any progress. */
export const runDeathsAlone = 3
export const runPlans = 500
export const runPlanCharacters = 4_000_000

export const noticeAttemptMs = 10_000
export const noticeFirstDelayMs = 5_000
export const noticeForMs = 86_400_000
export const noticeAtOnce = 64
/** A slow receiver must not take all. */
export const noticePerReceiver = 8

export const sourceBytes = 1_048_576
/** Other files that come with a source, and the bytes of all of them. */
export const sourceModules = 100
export const sourceModuleBytes = 4 * 1_048_576
/** Max bytes of other files that the command reads: inputs, secrets, answers, data of tests, recordings. */
export const fileBytes = 67_108_864
/** Deeper than this and a construct is refused, so that no source can exhaust the stack of any later stage. */
export const sourceNesting = 100
/** Max depth of a function of one's own, with all that it calls. */
export const sourceFunctionLevels = 1_000
export const sourceArrayLength = 10_000
export const sourceTypeParts = 50_000
export const sourceTypeLevels = 200
export const sourceCopiedParts = 200_000
/** More than this, and a few lines would make a plan that fills the memory. */
export const sourceSharedBindings = 100_000
export const sourceRetries = 100
/** Max rounds of a repetition. */
export const sourceRounds = 100
export const sourceCompileMs = 30_000
export const sourceCompileMegabytes = 512
/** Characters of a source that is worked on in one turn of the event loop: whatever it holds, that takes a few dozen milliseconds at most. */
export const sourceInOneTurn = 16_384
/** Characters that a pair of files counts for besides its own. */
export const sourcePairOfFiles = 32
/** Large sources that wait for the thread, of all callers and of one of them. */
export const sourceWaiting = 64
export const sourceWaitingOfOne = 32
/** Characters. What is written as one line may take many long ones: a hundred brackets do. */
export const sourceFormattedLength = 4_194_304
/**
 * How much of a union's members may be tried on one value: some 150 ms. All else takes one look at each part of the value,
 * but a union may have thousands of members, and the value hundreds of thousands of parts.
 */
export const sourceUnionTrials = 2_000_000
export const sourceIssues = 1_000
/** Characters of all texts of the issues of one answer. */
export const sourceIssuesLength = 1_048_576

/** CPU of one call of a code file's function, and of all calls of a run. */
export const codeCallMs = 1_000
export const codeRunMs = 10_000
export const codeMemoryBytes = 67_108_864
export const codeResultBytes = 8_388_608
/** Characters of what code writes to its console in a run. */
export const codeLogLength = 16_384
/** Max characters of the message of an exception that code throws. */
export const codeMessageLength = 500
/** Code files of which a process remembers what loading them found. */
export const codeCheckedFiles = 500
/** Max bytes of all code files that come with a source. */
export const codeModuleBytes = 262_144

export const modelAnswerBytes = 4_194_304
/** Max bytes of an answer with images or sound in it, as Base64. */
export const modelMediaBytes = 25_165_824
/** With log probabilities, which nobody reads, an answer may have this many times the bytes. */
export const modelWithProbabilities = 4
/**
 * How much work the JSON of an answer's text may be. A value takes a token at least, and no model writes more than some 100,000 of them; all
 * that is done with an output (parsing, checking, searching for secrets, logging) is done in one turn of the event loop.
 */
export const modelTextWork = 400_000
/**
 * How many values an answer, or an event of a stream, may hold besides the JSON in its texts, of a provider that does not speak `/responses`.
 * No model writes that many.
 */
export const modelAnswerValues = 50_000
/** A model that calls more tools than this in one turn is not going to do anything useful with the answers. */
export const modelToolCallsOfTurn = 128
/** In one turn: so often a provider may pause the work of its own tools. */
export const modelPauses = 32
/** Bytes of what an event says of one use of a provider's own tool. */
export const hostedSummaryBytes = 2048
/** In one turn: what a backend refuses is left out so often, then its refusal is the answer. */
export const modelAdaptations = 32
export const modelConnectMs = 10_000
export const modelFirstByteMs = 300_000
export const modelSilenceMs = 300_000
/** Where a workflow sets no `timeout_seconds`. */
export const modelCallMs = 600_000
/** Ids come from requests, and are remembered beyond a run: as labels of metrics, and with what is known of backends. */
export const modelModelIdLength = 1_000
/** No call uses as many. Sums and costs of what a backend invents stay numbers that way. */
export const modelTokens = 1_000_000_000
export const modelRedirects = 3

export const mcpListPages = 100
export const mcpListItems = 10_000
export const mcpListBytes = 8_388_608
/** Far more than any item needs, and little enough for everything that walks over one. */
export const mcpItemLevels = 500
/** Annotations and the like included. */
export const mcpDefinitionLevels = 100
// Schemas come from strangers: nothing in them is fetched, none is larger or deeper than people write.
export const mcpSchemaBytes = 262_144
export const mcpSchemaLevels = 64
export const mcpAnswerBytes = 8_388_608
/** An answer in more parts than this is not one that anybody wrote. */
export const mcpAnswerParts = 10_000
/** Deeper than this no value is taken in: everything that walks over it would have to be afraid of it. */
export const mcpContentLevels = 200
/** News of its progress and the like that one call may send before its answer. */
export const mcpCallEvents = 10_000
/** A stream that stays open is closed after so much. */
export const mcpOpenStream = { bytes: 16_777_216, events: 10_000 }
/** The older transport has all its answers there. */
export const mcpOpenSse = { bytes: 268_435_456, events: 100_000 }
/** How often a broken stream is opened again, and how long to wait before: the SDK would try without end, and at once if the server says so. */
export const mcpReconnections = 20
export const mcpReconnectionMs = 100
/** For comparing what a workflow declares with what its servers publish. */
export const mcpLookUpSteps = 1_000_000
/** Longer ones are cut. */
export const mcpToolDescription = 4_000
export const mcpPartDescription = 2_000
export const mcpTemplateLength = 2_000
/** A run that cannot begin says no more than so many reasons. */
export const mcpProblems = 100
export const mcpKnownServers = 200
export const mcpKnownListBytes = 524_288
export const mcpKnownBytes = 8_388_608
/** Questions of a server at a time, their bytes, the fields of each, and how often it may ask during one call. */
export const mcpAskEntries = 50
export const mcpAskBytes = 262_144
export const mcpAskFields = 100
export const mcpAskRounds = 10
/** The state that a server has repeated with the answers. */
export const mcpStateBytes = 65_536
export const mcpConnectMs = 30_000
export const mcpSilenceMs = 120_000
export const mcpCallMs = 600_000

/** After decompression. */
export const apiAnswerBytes = 8_388_608
export const tokenMs = 20_000
export const tokenAnswerBytes = 65_536
export const tokenLength = 16_384
export const tokensKept = 1_000
/** Max bytes of a document for `wire api import`. */
export const importBytes = 5_242_880
export const importOperations = 200

/** One row of the table: what is limited, to what, and what happens beyond. Null where the default of the setting is the limit. */
interface LimitRow {
  readonly what: string
  readonly limit: string | null
  readonly setting?: string
  readonly over: string
}

const row = (what: string, limit: string | null, over: string, setting?: string): LimitRow => ({
  what,
  limit,
  over,
  ...(setting !== undefined && { setting }),
})

const kib = 1024
const mib = 1024 * 1024
const second = 1_000
const minute = 60_000
const hour = 3_600_000

const count = groupDigits
const bytes = (value: number): string => (value % mib === 0 ? `${count(value / mib)} MiB` : `${count(value / kib)} KiB`)
const time = (value: number): string => {
  if (value >= 24 * hour && value % (24 * hour) === 0)
    return value === 24 * hour ? "a day" : `${value / 24 / hour} days`
  if (value >= 2 * minute && value % minute === 0) return `${value / minute} minutes`
  return value >= second ? `${value / second} s` : `${value} ms`
}

const jsonPrices =
  "a number, a text or a key counts as 1 value, an array or object as 3. Keys that are slow to read count as more: 25 each after the first 1,000 of an object, 10,000 for one of over 16,383 bytes. So do new texts of up to 10 bytes, after the first 1,000: 5 each"

/** Every limit by its subject, for docs/security.md. */
export function limitTable(): Readonly<Record<string, readonly LimitRow[]>> {
  return {
    Requests: [
      row(
        "requests of one key, or of one address (IPv6: the first 64 bits) without a valid key, in a second",
        null,
        "`rate_limited`",
        "RATE_LIMIT",
      ),
      row(
        "connections at a time",
        "three quarters of the file descriptors, and one for each 64 KiB of the heap",
        "the one that has been without a request for the longest is closed",
      ),
      row(
        "requests and streams of one caller that are open",
        "half of the connections where there are several callers",
        "`rate_limited`",
      ),
      row("requests that begin in one turn of the event loop", `${requestInOneTurn}; callers take turns`, "they wait"),
      row("a body", null, "`payload_too_large`", "MAX_BODY"),
      row("levels of a JSON body", count(requestJsonLevels), "`invalid_request`"),
      row(
        "values in a JSON body",
        `${count(2 * maxJsonWork)}, or one for every 4 bytes of \`WIRE_MAX_BODY\` where that is more: ${jsonPrices}`,
        "`payload_too_large`",
        "MAX_BODY",
      ),
      row("address and headers", "16 KiB", "`invalid_request`"),
      row(
        `bodies that are being received and answers of over ${bytes(requestSmallAnswer)} that have not been read, together`,
        "a quarter of the heap, or 8 of the largest bodies where that is more; one caller half of that where there are several",
        "`overloaded`, `rate_limited`; over `/mcp` the connection ends",
        "MAX_BODY",
      ),
      row("lists and records that are made at a time", `${requestMadeTogether}; callers take turns`, "they wait"),
      row(
        "a page of a list (questions, runs, workflows, `tools/list`)",
        `${bytes(requestPageBytes)}, or one item`,
        "the rest is on the next page",
      ),
      row("time for a request to arrive", time(requestArrivalMs), "`invalid_request`"),
      row("an idempotency key", `${requestIdempotencyKeyLength} characters`, "`invalid_request`"),
      row(
        "secret values of a request",
        `${requestSecrets}; ${bytes(requestSecretBytes)} each, ${bytes(requestAllSecretsBytes)} in all`,
        "`input_error`",
      ),
      row("files in the input of a run", `${groupDigits(requestFiles)}`, "`input_error`"),
    ],
    Runs: [
      row("runs at a time", null, "they wait", "MAX_RUNS"),
      row("runs that wait", null, "`overloaded`", "MAX_QUEUED"),
      row("runs of one caller that wait for people", null, "`overloaded`", "MAX_WAITING"),
      row("open questions of one run", count(runOpenQuestions), "`limit_exceeded`"),
      row("workflows that are called within each other", count(runCalledLevels), "`limit_exceeded`"),
      row(
        "workflows that a run calls, nested ones included",
        null,
        "`limit_exceeded`; where the source shows it: `validation_error`",
        "MAX_CALLED",
      ),
      row("milliseconds of CPU of one call of [code](code.md)", null, "`limit_exceeded`", "CODE_MS"),
      row("a file that `text_of` reads", bytes(fileTextBytes), "`evaluation_error`"),
      row("files inline in one turn of a model", bytes(stepInlineBytes), "`limit_exceeded`"),
      row("files in one call of a tool of an API", bytes(stepInlineBytes), "`limit_exceeded`"),
      row("files in one call of an MCP tool", bytes(toolFileBytes), "`limit_exceeded`"),
      row("milliseconds of CPU of all code of a run", null, "`limit_exceeded`", "CODE_MS_PER_RUN"),
      row(
        "memory of code, JSON of its result, what it writes to its console in a run",
        `${bytes(codeMemoryBytes)}, ${bytes(codeResultBytes)}, ${bytes(codeLogLength)}`,
        "`limit_exceeded`; the console is cut",
      ),
      row(
        "requests of model calls and tool calls that are kept with a run",
        `${bytes(runKeptRequestBytes)} each, ${bytes(runKeptRequestsBytes)} in all; shared parts count once`,
        "kept without their bodies, and then not at all",
        "KEEP_REQUESTS",
      ),
      row(
        "the events of a run whose output is [followed to its origins](http.md#get-executerun_idorigins)",
        bytes(runFollowedBytes),
        "`limit_exceeded`",
      ),
      row(
        "arguments of a call that needs an approval",
        bytes(runShownBytes),
        "`tool_error`; a model gets it as the result",
      ),
      row(
        "runs at a time of one caller, with the same share of those that wait",
        "half of all where there are several callers",
        "they wait, then `rate_limited`",
        "MAX_RUNS_PER_CALLER",
      ),
      row(
        "time of a run",
        `${time(runTimeMs)}, or \`options.timeout_ms\`, or the workflow's \`limits { time_seconds }\``,
        "`timeout`",
        "MAX_RUN_TIME",
      ),
      row(
        "model calls, tool calls and called workflows of a run at a time",
        `${runCalls}, or as \`options.max_concurrency\` says`,
        "they wait",
      ),
      row("items of one loop, and of one list that calls", null, "`limit_exceeded`", "MAX_ITERATIONS"),
      row(
        "one value that an expression makes, an instruction, or the files of one step",
        `${bytes(runValueBytes)} of JSON (twice \`WIRE_MAX_BODY\` where that is more), ${runValueLevels} levels`,
        "`limit_exceeded`",
      ),
      row(
        "work of all expressions of a run together: 1 for each byte that is copied, measured or compared; 8 to 64 for each element that is measured, written as text, compared, made or looked at. Writing the output counts",
        `${runWork / mib} Mi, 32 Mi more for each agent and call, and ${runWorkPerByte} more for each byte of the input, of answers and of results`,
        "`limit_exceeded`",
      ),
      row(
        "work of one expression; a list from a list, and what is made from it, count each by themselves",
        "192 Mi (twelve times the largest value)",
        "`limit_exceeded`",
      ),
      row(
        "memory of the values that a run keeps: `dynamic` values, outputs of agents, conversations",
        null,
        "`limit_exceeded`",
        "MAX_RUN_MEMORY",
      ),
      row(
        "memory of all runs of a process together: their requests, what they keep, what they send, what has arrived of answers",
        "a quarter of the heap (`node --max-old-space-size`); half of that for one caller where there are several callers. A run may always have its own part (the limit divided by `WIRE_MAX_RUNS`)",
        "`limit_exceeded`; a new run: `overloaded`, `rate_limited`; answers wait when half of it is used",
      ),
      row(
        "the log of a run: its events, and what is kept with them to continue it",
        null,
        "`limit_exceeded`",
        "MAX_RUN_LOG",
      ),
      row(
        "what the runs of one caller take in the store, those that have ended until `WIRE_RETENTION` deletes them",
        "half of the disk (what is free and what the database takes, the most that was seen since the start; a disk that is full of other files sets no limit); nine tenths of it where there is one key or none. `WIRE_STORE=memory`: of half the heap. PostgreSQL: no limit. Runs under way may take a tenth more",
        "`rate_limited`; a run under way: `limit_exceeded`",
        "MAX_STORED_PER_CALLER",
      ),
      row(
        "the text of a question; `to`; an answer",
        `${count(runQuestionLength)} characters; ${count(runApproverLength)} characters; ${bytes(runShownBytes)} of JSON`,
        "`limit_exceeded`; an answer: `payload_too_large`",
      ),
      row("the workflow's output", `${bytes(runOutputBytes)} of JSON`, "`payload_too_large`"),
      row(
        "an output, argument, result, resource or list of messages in an event",
        bytes(runShownBytes),
        "its size stands in its place",
      ),
      row("a rejected answer in an event, and as the model is shown it again", bytes(runQuotedBytes), "it is cut"),
      row(
        "processes that died in the 30 s after they had resumed a run alone, without any progress between them. A run rests for minutes before the second time, and for half an hour before the third",
        count(runDeathsAlone),
        "`limit_exceeded`",
      ),
      row("how long an ended run is kept", null, "`run_expired`", "RETENTION"),
      row("how long a cached answer is kept", null, "it is asked for again", "CACHE_TTL"),
      row(
        "plans of sources that are kept compiled",
        `${count(runPlans)}, with ${count(runPlanCharacters)} characters of source`,
        "the oldest goes",
      ),
    ],
    Notifications: [
      row("where they may go", "nowhere", "`input_error`", "NOTIFY_ORIGINS"),
      row(
        "one attempt; attempts",
        `${time(noticeAttemptMs)}; about ${time(noticeFirstDelayMs)} after the first, then ever later, for ${time(noticeForMs)}`,
        "the notification is `gave_up`",
      ),
      row("deliveries of notifications at a time, of one process", count(noticeAtOnce), "they wait"),
      row(
        "of these, to one receiver (origin)",
        `${noticePerReceiver}; ${noticePerReceiver - 1} of one caller. Callers take turns`,
        "they wait; other receivers do not",
      ),
    ],
    Sources: [
      row("a source", bytes(sourceBytes), "`payload_too_large`"),
      row("other files of a source", `${sourceModules}, ${bytes(sourceModuleBytes)} together`, "`invalid_request`"),
      row(
        "another file that `wire` reads: an input, secrets, answers, data of tests, a recording",
        bytes(fileBytes),
        "a sentence",
      ),
      row(
        "nesting of blocks, types and expressions; defaults in a row; steps of a chain",
        count(sourceNesting),
        "`validation_error`",
      ),
      row("elements of `[T; n]`", count(sourceArrayLength), "`validation_error`"),
      row(
        "parts of the type of a dynamic value",
        `${count(sourceTypeParts)}, or ${sourceTypeLevels} levels`,
        "it is untyped",
      ),
      row("parts that all `schema.name.field` of a file copy", count(sourceCopiedParts), "`validation_error`"),
      row("bindings that a batch shares, times its items", count(sourceSharedBindings), "`validation_error`"),
      row("`max_retries`, `output_retries`", count(sourceRetries), "`validation_error`"),
      row("`at_most` of `repeat`", count(sourceRounds), "`validation_error`"),
      row(
        "compiling one source",
        `${time(sourceCompileMs)} and ${sourceCompileMegabytes} MB, in a thread of its own where it is over ${bytes(sourceInOneTurn)}, for which each pair of its other files counts ${sourcePairOfFiles} more`,
        "`limit_exceeded`",
      ),
      row(
        `sources over ${bytes(sourceInOneTurn)} that wait for that thread`,
        `${sourceWaiting}; ${sourceWaitingOfOne} of one caller. Callers take turns`,
        "`overloaded`",
      ),
      row("a formatted source", `${count(sourceFormattedLength)} characters`, "`limit_exceeded`"),
      row(
        "trying the members of unions on one value (an input, an answer, arguments, a result)",
        `${count(sourceUnionTrials)} steps`,
        "as a value that does not fit its type",
      ),
      row(
        "issues of one answer",
        `${count(sourceIssues)}, with ${bytes(sourceIssuesLength)} of text`,
        "`issues_omitted` counts the rest",
      ),
    ],
    "Model backends": [
      row(
        "one answer",
        `${bytes(modelAnswerBytes)}; with log probabilities ${bytes(modelAnswerBytes * modelWithProbabilities)}, of a provider that does not speak \`/responses\``,
        "`provider_error`",
      ),
      row(
        "values in the JSON of an answer",
        `${count(maxJsonWork)}; in the JSON that its text is ${count(modelTextWork)}; in an answer, or an event of a stream, of a provider that does not speak \`/responses\` ${count(modelAnswerValues)} without log probabilities. Counted as for a JSON body`,
        "`provider_error`; `output_error`",
      ),
      row("tool calls that a model makes in one turn", count(modelToolCallsOfTurn), "`limit_exceeded`"),
      row(
        "pauses that a provider makes in the work of its own tools, in one turn",
        count(modelPauses),
        "`limit_exceeded`",
      ),
      row(
        "requests that are adapted to what a backend refuses, in one turn",
        count(modelAdaptations),
        "`provider_error`",
      ),
      row(
        "time to connect; to the first byte; between bytes; for a call",
        `${time(modelConnectMs)}; ${time(modelFirstByteMs)}; ${time(modelSilenceMs)}; ${time(modelCallMs)} or \`timeout_seconds\``,
        "`timeout`",
      ),
      row(
        "a batch of model calls",
        `${count(batchItems)} items, ${bytes(batchBytes)}; fewer than ${leastBatchItems} are called directly`,
        "more batches",
      ),
      row("the id of a model", `${count(modelModelIdLength)} characters`, "`evaluation_error`"),
      row("tokens that an answer says it used", `${count(modelTokens)} of a kind`, "they count as not reported"),
      row(
        "redirects of a call; connections to one origin",
        `${modelRedirects}; as many as \`WIRE_MAX_RUNS\`, at least 256`,
        "`provider_error`; they wait",
      ),
    ],
    "MCP servers": [
      row(
        "one list (`tools/list`, `resources/list`, `resources/templates/list`, `prompts/list`)",
        `${mcpListPages} pages, ${count(mcpListItems)} items, ${bytes(mcpListBytes)}, 60 s; an item ${mcpItemLevels} levels deep`,
        "`tool_error`",
      ),
      row("a tool's definition", `${mcpDefinitionLevels} levels deep`, "`tool_error`"),
      row("an input or output schema", `${bytes(mcpSchemaBytes)}, ${mcpSchemaLevels} levels deep`, "`tool_error`"),
      row(
        "the answer to a call, a read, a render",
        `${bytes(mcpAnswerBytes)}, ${count(mcpAnswerParts)} parts or messages; structured content ${mcpContentLevels} levels deep`,
        "`tool_error`",
      ),
      row("any other answer", bytes(mcpAnswerBytes), "`tool_error`"),
      row(
        "what a server asks people during a call",
        `${mcpAskRounds} times; ${mcpAskEntries} questions at a time, of ${bytes(mcpAskBytes)} together, ${mcpAskFields} fields each; a state of ${bytes(mcpStateBytes)}`,
        "`tool_error`",
      ),
      row(
        "values in the JSON of an answer",
        `${count(maxJsonWork)}, counted as for a JSON body`,
        "`tool_error`; in a text that is JSON: it stays a text",
      ),
      row("events before the answer to one call", count(mcpCallEvents), "`tool_error`"),
      row(
        "a stream that stays open",
        `${count(mcpOpenStream.events)} events, ${bytes(mcpOpenStream.bytes)}, then it is opened again: ${mcpReconnections} times in a run, no sooner than after ${time(mcpReconnectionMs)}. Over HTTP+SSE, which has all answers in it: ${count(mcpOpenSse.events)} events, ${bytes(mcpOpenSse.bytes)}`,
        "`tool_error`",
      ),
      row(
        "one validation of arguments or a result",
        "1,000,000 steps, 400 schemas within each other",
        "`tool_error`; a result: as one that does not fit its type",
      ),
      row("all validations of a run, beyond 50 steps for each part of a value", "1,000,000 steps", "`tool_error`"),
      row("a pattern", "2,000 characters, 2,000 states", "it is not checked"),
      row(
        "comparing declared types with schemas, in a run",
        `${count(mcpLookUpSteps)} steps`,
        "what lies beyond is validated when it comes",
      ),
      row(
        "descriptions",
        `${count(mcpToolDescription)} characters for a tool, ${count(mcpPartDescription)} for an argument or a resource`,
        "they are cut",
      ),
      row("a URI template", `${count(mcpTemplateLength)} characters`, "`validation_error`"),
      row("problems with imports that an error names", count(mcpProblems), "the rest is left out"),
      row(
        "what is remembered from one run to the next",
        `${mcpKnownServers} servers, ${bytes(mcpKnownListBytes)} a list, ${bytes(mcpKnownBytes)} in all`,
        "it is asked for again",
      ),
      row(
        "time to connect; without a word; for a call",
        `${time(mcpConnectMs)}; ${time(mcpSilenceMs)}; ${time(mcpCallMs)}`,
        "`timeout`",
      ),
    ],
    "HTTP APIs": [
      row("the answer to a call, after decompression", bytes(apiAnswerBytes), "`tool_error`"),
      row("values in the JSON of an answer", `${count(maxJsonWork)}, counted as for a JSON body`, "`tool_error`"),
      row("redirects of a GET, within its origin", "3", "`tool_error`"),
      row(
        "a token by `auth { }`",
        `${count(tokenLength)} characters, ${time(tokenMs)}; ${count(tokensKept)} are kept`,
        "`tool_error`; the oldest goes",
      ),
      row("what an error shows of the body", "500 characters", "it is cut"),
      row(
        "a document for `wire api import`",
        `${bytes(importBytes)}; without ` + "`--only` " + `${importOperations} operations`,
        "refused",
      ),
    ],
  }
}
