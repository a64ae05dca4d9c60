import type { KeptEvents, ListedWaits, SendEventBody, SentEventAnswer } from "../api/sent-events.ts"
import type { FileAnswer, FileMetaAnswer, FilesAnswer, RunFilesAnswer } from "../api/files.ts"
import type { InvalidateAnswer } from "../api/cache.ts"
import type {
  ExecuteBody as JsonExecuteBody,
  RerunBody as JsonRerunBody,
  ExecuteOptions,
  SourceBody,
  StartedAnswer,
  WaitingAnswer,
} from "../api/execute.ts"
import type { AnswerBody, QuestionsAnswer } from "../api/questions.ts"
import type { ReleaseAnswer } from "../api/releases.ts"
import type { BudgetsAnswer, SpendingAnswer, SpendingRequest } from "../api/spending.ts"
import type { CallRequestAnswer, CancelAnswer, RunAnswer, RunRequestAnswer, RunsAnswer } from "../api/runs.ts"
import type { ErasedRunsAnswer, ErasureBody, ErasureStarted, ErasureState } from "../api/erasure.ts"
import type { RunsActionBody, RunsActionStarted, RunsActionState } from "../api/run-actions.ts"
import type { RunStatsAnswer } from "../api/run-stats.ts"
import type { GivenScore, GivenScoreAnswer, ScoresAnswer, ScoresRequest } from "../api/scores.ts"
import type { FormatAnswer, ValidateAnswer, ValidateBody } from "../api/source.ts"
import type { TriggerAnswer, TriggeredAnswer, TriggersAnswer } from "../api/triggers.ts"
import type {
  MoveAnswer,
  MoveBody,
  ServedAnswer,
  VersionAnswer,
  VersionDetail,
  VersionsAnswer,
} from "../api/versions.ts"
import type { WorkflowDiff } from "../diff/diff-shape.ts"
import type { WorkflowAnswer, WorkflowDetail, WorkflowsAnswer } from "../api/workflows.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ErrorKind, Question } from "../log/events.ts"
import type { AgentPartial } from "../log/partials/agent-partials.ts"
import { objectIn, queryOf, segment, ServiceCalls, type CallOptions, type ServiceOptions } from "./service-calls.ts"
import { WireworksError } from "./errors.ts"
import { filesOnDisk } from "./files-on-disk.ts"
import { followStream, untilAnswered } from "./follow-stream.ts"
import type { StreamEvent } from "./read-events.ts"
import { withSentFiles, type GivenInput } from "./input-files.ts"
import { headersOfFile, openContents, type FileContents, type SendFileOptions } from "./sent-file.ts"
import { askingRun, RunWaiting, type AnswerOptions, type AskingRun } from "./run-waiting.ts"

export type { StreamEvent } from "./read-events.ts"
export { WireworksError } from "./errors.ts"
export type { CallOptions } from "./service-calls.ts"
export { RunWaiting } from "./run-waiting.ts"
export type { AnswerOptions, AskingRun } from "./run-waiting.ts"
export type { Question } from "../log/events.ts"
export type { AgentPartial } from "../log/partials/agent-partials.ts"
export type { ExecuteOptions, StartedAnswer } from "../api/execute.ts"
export type { KeptEvents, ListedWaits, SendEventBody, SentEventAnswer } from "../api/sent-events.ts"
export type { AnswerBody, QuestionsAnswer } from "../api/questions.ts"
export type { ReleaseAnswer }
export type { BudgetsAnswer, SpendingAnswer, SpendingRequest } from "../api/spending.ts"
export type { CallRequestAnswer, RunAnswer, ListedRunAnswer, RunRequestAnswer, RunsAnswer } from "../api/runs.ts"
export type { FileAnswer, FileMetaAnswer, FilesAnswer, RunFilesAnswer } from "../api/files.ts"
export type { GivenScore, GivenScoreAnswer, ScoresAnswer, ScoresRequest } from "../api/scores.ts"
export type { FileContents, SendFileOptions } from "./sent-file.ts"
export { LocalFile, type GivenInput } from "./input-files.ts"
export type { RunsActionBody, RunsActionStarted, RunsActionState } from "../api/run-actions.ts"
export type { ErasedRunsAnswer, ErasureBody, ErasureStarted, ErasureState } from "../api/erasure.ts"
export type { RunStatsAnswer } from "../api/run-stats.ts"
export type { FormatAnswer, ValidateAnswer, ValidateBody } from "../api/source.ts"
export type { TriggerAnswer, TriggeredAnswer } from "../api/triggers.ts"
export type { MoveAnswer, MoveBody, MovedRun, ServedAnswer, VersionAnswer, VersionDetail } from "../api/versions.ts"
export type { WorkflowDiff } from "../diff/diff-shape.ts"
export type { WorkflowAnswer, WorkflowDetail } from "../api/workflows.ts"

/** A workflow with its input, which may have files. */
export type ExecuteBody = Omit<JsonExecuteBody, "input"> & { readonly input?: GivenInput | null }

export type RerunBody = Omit<JsonRerunBody, "input"> & { readonly input?: GivenInput | null }

export interface ClientOptions extends ServiceOptions {
  /** Reconnects of a stream in a row that may fail before it gives up; 10 unless set. */
  readonly maxReconnects?: number
}

export interface ExecuteCallOptions extends CallOptions {
  /** The same key with the same body gives the same run: makes a repeat safe, and the run outlive this connection. Default: a new one for each call. */
  readonly idempotencyKey?: string
}

export interface RunCallOptions extends CallOptions {
  /** Seconds, up to 60: the answer is held until the run ends or begins to wait. */
  readonly wait?: number
}

export interface Executed<Output> {
  readonly run_id: string
  readonly output: Output
}

export interface FollowOptions extends CallOptions {
  /** Id of the last event that is known already. */
  readonly after?: number
  /** Called before each reconnect, with what broke or refused the connection. */
  readonly onReconnect?: (attempt: number, cause: unknown) => void
  /** Called for each piece of a field of an agent's output, of a run with `options.partials`: once, before the event that it comes from. */
  readonly onPartial?: (partial: AgentPartial) => void
}

/** A run that exists. */
export interface FollowedRun extends AskingRun {
  /** Streams partial outputs, like `partials` of the client. */
  readonly partials: (options?: Omit<FollowOptions, "onPartial">) => AsyncGenerator<AgentPartial, void>
  /** The contents of a file, as they come. */
  readonly file: (file_id: string, options?: CallOptions) => Promise<ReadableStream<Uint8Array>>
}

export interface StreamOptions extends ExecuteCallOptions, Omit<FollowOptions, "after"> {
  /** Called once the run exists. */
  readonly onRun?: (run_id: string) => void
}

/** Options beside the input of a workflow with a name. */
export interface WorkflowRequest {
  /** Come before those of the server. */
  readonly secrets?: JsonObject
  readonly options?: ExecuteOptions
  /** One that has served lately, in place of the one that serves. */
  readonly version?: string
}

/** Calls of one workflow of the server's folder. */
export interface WorkflowClient<Input extends object, Output, Answers = Record<string, JsonObject>> {
  /** Runs it and waits for its output; rejects as `execute` of the client does. */
  execute(input: Input, options?: ExecuteCallOptions & WorkflowRequest): Promise<Executed<Output>>
  /** Runs it and yields its events; `workflow_completed` has its output. */
  stream(input: Input, options?: StreamOptions & WorkflowRequest): AsyncGenerator<StreamEvent<Output>, void>
  /** Starts it and does not wait for it. */
  start(input: Input, options?: ExecuteCallOptions & WorkflowRequest): Promise<StartedAnswer>
  /** A run of it that may ask people. */
  run(run_id: string): WorkflowRun<Answers>
}

/** A run of a workflow whose questions have names and types. */
export interface WorkflowRun<Answers> {
  readonly run_id: string
  /** All questions of the run, oldest first. */
  questions(
    options?: CallOptions,
  ): Promise<readonly (Question & { readonly name: (keyof Answers & string) | string })[]>
  /** Answers the open question of a step. Rejects with a `WireworksError` of kind `conflict` when it is too late. */
  answer<Name extends keyof Answers & string>(
    name: Name,
    answer: Answers[Name],
    options?: NamedAnswerOptions,
  ): Promise<Question>
}

export interface NamedAnswerOptions extends AnswerOptions {
  /** Which question of a loop, from 0. */
  readonly iteration?: number
}

export interface InboxRequest {
  /** `open` unless given. */
  readonly status?: Question["status"]
  /** Only questions to this group, or with this label. */
  readonly to?: string
  readonly limit?: number
  readonly after?: string
}

export interface RunsRequest {
  /** Words, each of which must occur in the run's id, its workflow, or what the list shows of input, output or error. */
  readonly q?: string
  readonly workflow?: string | readonly string[]
  readonly version?: string
  /** A side of a release. Without it: all runs but shadows. */
  readonly release?: "current" | "candidate" | "shadow"
  /** Only runs with this score, by its name and its value: `helpful:bad`. */
  readonly score?: string
  readonly started_by?: "request" | "schedule" | "webhook" | "rerun" | "lab"
  readonly min_cost?: number
  readonly min_seconds?: number
  /** Only runs that were made before this time. */
  readonly until?: string | Date
  /** Only for operators. */
  readonly caller?: string
  /** `open` is queued, running or cancelling; `ended` is completed, failed or cancelled. */
  readonly status?: RunAnswer["status"] | "open" | "ended"
  /** Only runs that were made at this time or later. RFC 3339, or a `Date`. */
  readonly since?: string | Date
  /** Only runs that failed with an error of this kind. */
  readonly error_kind?: ErrorKind
  /** `preview`: with the input and the result of each run in one line. */
  readonly include?: "preview"
  readonly limit?: number
  readonly after?: string
}

/** The filters of the list but `q` and `score`. Without `since`: the 500 newest hours or days. */
export interface RunStatsRequest extends Omit<RunsRequest, "q" | "score" | "include" | "limit" | "after"> {
  readonly by?: "hour" | "day"
}

interface WorkflowType {
  readonly input: object
  readonly output: unknown
  /** By the names of its questions. */
  readonly answers?: object
}

type AnswersOf<Type> = Type extends { readonly answers: infer Answers } ? Answers : Record<string, JsonObject>

/** A client that knows the workflows of a server's folder: `Workflows` is what `wire types` writes. */
export type TypedClient<Workflows extends { [Name in keyof Workflows]: WorkflowType }> = Omit<
  WireworksClient,
  "workflow"
> & {
  workflow<Name extends keyof Workflows & string>(
    name: Name,
  ): WorkflowClient<Workflows[Name]["input"], Workflows[Name]["output"], AnswersOf<Workflows[Name]>>
}

/** `createClient<Workflows>({ baseUrl, apiKey }).workflow("tickets/triage").execute({ text })` */
export function createClient<
  Workflows extends { [Name in keyof Workflows]: WorkflowType } = Record<
    string,
    { readonly input: GivenInput; readonly output: JsonObject }
  >,
>(options: ClientOptions = {}): TypedClient<Workflows> {
  return new WireworksClient(options)
}

/** A client of the service, for browsers and for Node. */
export class WireworksClient {
  readonly #service: ServiceCalls
  readonly #maxReconnects: number

  constructor(options: ClientOptions = {}) {
    this.#service = new ServiceCalls(options)
    this.#maxReconnects = options.maxReconnects ?? 10
  }

  /**
   * Runs a workflow and waits for its output. Rejects with a `WireworksError` when it fails, and with `RunWaiting` when it begins to
   * wait for people. Aborting its signal cancels the run, unless `idempotencyKey` says that others may ask for it. On Node `{ file: "x.wire" }` without a source reads the file, and those that it uses.
   */
  async execute<Output = JsonObject>(body: ExecuteBody, options: ExecuteCallOptions = {}): Promise<Executed<Output>> {
    return this.#execute<Output>("/execute", withFiles(body), options)
  }

  async #execute<Output>(path: string, given: object, options: ExecuteCallOptions): Promise<Executed<Output>> {
    const body = await this.#sentBody(given, options)
    // With a key, an answer that was lost can be asked for again without a second run.
    const headers = keyHeader(options.idempotencyKey ?? randomKey())
    const { signal } = options
    const ports = { maxReconnects: this.#maxReconnects, ...(signal !== undefined && { signal }) }
    let isSent = false
    const call = (): Promise<Executed<Output>> => {
      isSent ||= signal?.aborted !== true
      return this.#executed<Output>(path, body, options, headers)
    }
    try {
      return await untilAnswered(call, ports)
    } catch (error) {
      const isLeft = isSent && signal?.aborted === true && options.idempotencyKey === undefined
      if (isLeft && !(error instanceof WireworksError || error instanceof RunWaiting))
        void this.#cancelStarted(path, body, headers)
      throw error
    }
  }

  /** Nobody else can ask for the run of a key that was made here. The service says by its key which one it is. */
  async #cancelStarted(path: string, body: object, headers: Record<string, string>): Promise<void> {
    try {
      const response = await this.#service.call("POST", path, body, {}, { ...headers, prefer: "respond-async" })
      await this.cancel((await objectIn<StartedAnswer>(response)).run_id)
    } catch {
      // It has ended, or the service is gone: nobody waits for it.
    }
  }

  async #executed<Output>(
    path: string,
    body: object,
    options: ExecuteCallOptions,
    headers: Record<string, string>,
  ): Promise<Executed<Output>> {
    const response = await this.#service.call("POST", path, body, options, headers)
    const run_id = response.headers.get("x-service-run-id") ?? ""
    if (response.status === 202) {
      const { questions, next, waits } = await objectIn<WaitingAnswer>(response)
      const known = next === undefined && Array.isArray(questions)
      const all = known ? questions : (await this.questions(run_id, options)).filter(isOpen)
      throw new RunWaiting(askingRun(this, run_id, all), all, waits)
    }
    return { run_id, output: await objectIn<Output>(response) }
  }

  /**
   * Runs a workflow and yields its events, each once and in order, up to the terminal one; a connection that breaks is
   * made again with the last id. Leaving the loop does not cancel the run.
   */
  async *stream<Output = JsonValue>(
    body: ExecuteBody,
    options: StreamOptions = {},
  ): AsyncGenerator<StreamEvent<Output>, void> {
    yield* this.#stream<Output>("/execute", withFiles(body), options)
  }

  /** Runs an earlier run again, taking over what did not change; what the body leaves out is as it was. */
  rerun<Output = JsonValue>(
    run_id: string,
    body: RerunBody,
    options: StreamOptions = {},
  ): AsyncGenerator<StreamEvent<Output>, void> {
    return this.#stream<Output>(`${runPath(run_id)}/rerun`, body, options)
  }

  /** Files of an input go before the run. */
  async #sentBody(body: { readonly input?: unknown }, options: CallOptions): Promise<object> {
    const input = await withSentFiles(body.input, (contents, about) =>
      this.sendFile(contents, { ...about, ...(options.signal !== undefined && { signal: options.signal }) }),
    )
    return input === body.input ? body : { ...body, input }
  }

  async *#stream<Output>(
    path: string,
    given: object,
    options: StreamOptions,
  ): AsyncGenerator<StreamEvent<Output>, void> {
    const body = await this.#sentBody(given, options)
    // With a key, a start whose answer was lost can be asked for again without a second run.
    const headers = { accept: "text/event-stream", ...keyHeader(options.idempotencyKey ?? randomKey()) }
    const open = (): Promise<Response> => this.#service.call("POST", path, body, options, headers)
    yield* this.#follow<Output>(open, options, 0)
  }

  /** Yields the events of a run that exists, from the start or after an id. */
  async *follow<Output = JsonValue>(
    run_id: string,
    options: FollowOptions = {},
  ): AsyncGenerator<StreamEvent<Output>, void> {
    const after = options.after ?? 0
    yield* this.#follow<Output>(() => this.#events(run_id, after, options), options, after)
  }

  /** Starts a workflow and does not wait for it: the run goes on without this client, and after a restart of the service. */
  async start(body: ExecuteBody, options: ExecuteCallOptions = {}): Promise<StartedAnswer> {
    return this.#start("/execute", withFiles(body), options)
  }

  async #start(path: string, given: object, options: ExecuteCallOptions): Promise<StartedAnswer> {
    const body = await this.#sentBody(given, options)
    const headers = { prefer: "respond-async", ...keyHeader(options.idempotencyKey) }
    const response = await this.#service.call("POST", path, body, options, headers)
    return objectIn<StartedAnswer>(response)
  }

  /** A workflow of the server's folder. `createClient` knows its types. */
  workflow<Input extends object = GivenInput, Output = JsonObject>(name: string): WorkflowClient<Input, Output> {
    const path = `${workflowPath(name)}/execute`
    const bodyOf = (input: Input, { secrets, options, version }: WorkflowRequest): object => ({
      input,
      ...(version !== undefined && { version }),
      ...(secrets !== undefined && { secrets }),
      ...(options !== undefined && { options }),
    })
    return {
      execute: (input, call = {}) => this.#execute<Output>(path, bodyOf(input, call), call),
      stream: (input, call = {}) => this.#stream<Output>(path, bodyOf(input, call), call),
      start: (input, call = {}) => this.#start(path, bodyOf(input, call), call),
      run: (run_id) => {
        const { questions, answer } = askingRun(this, run_id, [])
        const answerNamed = async (step: string, given: unknown, { iteration, ...call }: NamedAnswerOptions = {}) => {
          const { id } = questionNamed(await questions(call), step, iteration)
          return answer(id, given as JsonValue, call)
        }
        return { run_id, questions, answer: answerNamed }
      },
    }
  }

  /** The workflows of the server's folder. */
  workflows(options: CallOptions = {}): Promise<readonly WorkflowAnswer[]> {
    return this.#service.pages<WorkflowsAnswer, WorkflowAnswer>("/workflows", options, ({ workflows }) => workflows)
  }

  /** One of them, with its source and plan. */
  async workflowDetail(name: string, options: CallOptions = {}): Promise<WorkflowDetail> {
    return this.#service.json<WorkflowDetail>("GET", workflowPath(name), undefined, options)
  }

  /** The versions of a workflow that are kept, newest first, with the caller's runs of each. */
  versions(name: string, options: CallOptions = {}): Promise<readonly VersionAnswer[]> {
    const path = `${workflowPath(name)}/versions`
    return this.#service.pages<VersionsAnswer, VersionAnswer>(path, options, ({ versions }) => versions)
  }

  /** One of them with its files; for operators. */
  version(name: string, version: string, options: CallOptions = {}): Promise<VersionDetail> {
    return this.#service.json<VersionDetail>("GET", versionPath(name, version), undefined, options)
  }

  /** What the change from one version to another means. */
  diffVersions(name: string, from: string, to: string, options: CallOptions = {}): Promise<WorkflowDiff> {
    const path = `${versionPath(name, from)}/diff/${segment(to)}`
    return this.#service.json<WorkflowDiff>("GET", path, undefined, options)
  }

  /** Callers cannot execute the version any more; for operators. */
  withdrawVersion(name: string, version: string, options: CallOptions = {}): Promise<VersionAnswer> {
    return this.#service.json<VersionAnswer>("POST", `${versionPath(name, version)}/withdraw`, undefined, options)
  }

  /** Serves a kept version in place of the file, or the file again (null); for operators. */
  serveVersion(name: string, version: string | null, options: CallOptions = {}): Promise<ServedAnswer> {
    return this.#service.json<ServedAnswer>("POST", `${workflowPath(name)}/serve`, { version }, options)
  }

  /** Moves runs that wait to another version of their workflow, at most 200, or says what a move would do (`dry_run`); for operators. */
  moveRuns(name: string, body: MoveBody = {}, options: CallOptions = {}): Promise<MoveAnswer> {
    return this.#service.json<MoveAnswer>("POST", `${workflowPath(name)}/move`, body, options)
  }

  /** A page of the caller's runs, newest first. */
  runs(query: RunsRequest = {}, options: CallOptions = {}): Promise<RunsAnswer> {
    return this.#service.json<RunsAnswer>("GET", `/runs${queryOf(query)}`, undefined, options)
  }

  /** Counts of the caller's runs for charts, by hour unless the query says otherwise. */
  runStats(query: RunStatsRequest = {}, options: CallOptions = {}): Promise<RunStatsAnswer> {
    return this.#service.json<RunStatsAnswer>("GET", `/runs/stats${queryOf(query)}`, undefined, options)
  }

  /** Retries, cancels or deletes many runs; unless `dry_run` is false, it says how many they are and does nothing. */
  startRunsAction(body: RunsActionBody, options: CallOptions = {}): Promise<RunsActionStarted> {
    return this.#service.json<RunsActionStarted>("POST", "/runs/actions", body, options)
  }

  /** How far such an action is. */
  runsAction(id: string, options: CallOptions = {}): Promise<RunsActionState> {
    return this.#service.json<RunsActionState>("GET", `/runs/actions/${segment(id)}`, undefined, options)
  }

  /** Erases the runs whose input has these values; unless `dry_run` is false, it counts them and does nothing. For operators. */
  startErasure(body: ErasureBody, options: CallOptions = {}): Promise<ErasureStarted> {
    return this.#service.json<ErasureStarted>("POST", "/erase", body, options)
  }

  /** How far an erasure is. For operators. */
  erasure(id: string, options: CallOptions = {}): Promise<ErasureState> {
    return this.#service.json<ErasureState>("GET", `/erase/${segment(id)}`, undefined, options)
  }

  /** Ids of erased runs, which backups made earlier still have. For operators. */
  erased(
    page: { readonly limit?: number; readonly after?: string } = {},
    options: CallOptions = {},
  ): Promise<ErasedRunsAnswer> {
    return this.#service.json<ErasedRunsAnswer>("GET", `/erase${queryOf(page)}`, undefined, options)
  }

  /** How the candidate of a workflow compares with the version that is served. With an action, it is stopped or goes on. For operators. */
  release(
    name: string,
    { action, ...options }: CallOptions & { readonly action?: "stop" | "resume" } = {},
  ): Promise<ReleaseAnswer> {
    const path = `/workflows/${name.split("/").map(encodeURIComponent).join("/")}/release`
    return action === undefined
      ? this.#service.json<ReleaseAnswer>("GET", path, undefined, options)
      : this.#service.json<ReleaseAnswer>("POST", path, { action }, options)
  }

  /** The caller's budgets; an operator's client gets all. */
  async budgets(options: CallOptions = {}): Promise<BudgetsAnswer["budgets"]> {
    return (await this.#service.json<BudgetsAnswer>("GET", "/budgets", undefined, options)).budgets
  }

  /** What runs have used, by day unless the query says otherwise. */
  spending(query: SpendingRequest = {}, options: CallOptions = {}): Promise<SpendingAnswer> {
    return this.#service.json<SpendingAnswer>("GET", `/spending${queryOf(query)}`, undefined, options)
  }

  /** Returns the request of a run: source, input and options, without secrets. */
  runRequest(run_id: string, options: CallOptions = {}): Promise<RunRequestAnswer> {
    return this.#service.json<RunRequestAnswer>("GET", `${runPath(run_id)}/request`, undefined, options)
  }

  /** The request of a model call, as it was sent: `call_id` is in the `calls` of events. */
  callRequest(run_id: string, call_id: string, options: CallOptions = {}): Promise<CallRequestAnswer> {
    return this.#service.json<CallRequestAnswer>(
      "GET",
      `${runPath(run_id)}/calls/${segment(call_id)}`,
      undefined,
      options,
    )
  }

  /** The pieces of the outputs of a run's agents as they are written, of a run with `options.partials`. Ends with the run. */
  async *partials(run_id: string, options: Omit<FollowOptions, "onPartial"> = {}): AsyncGenerator<AgentPartial, void> {
    const found: AgentPartial[] = []
    for await (const _ of this.follow(run_id, { ...options, onPartial: (one) => void found.push(one) })) {
      yield* found.splice(0)
    }
  }

  /** The run's record. Its methods are not part of what it prints or compares as. */
  async run(run_id: string, options: RunCallOptions = {}): Promise<RunAnswer & FollowedRun> {
    const query = options.wait === undefined ? "" : `?wait=${options.wait}`
    const record = await this.#service.json<RunAnswer>("GET", `${runPath(run_id)}${query}`, undefined, options)
    const { questions, answer } = askingRun(this, run_id, [])
    return Object.defineProperties(record, {
      questions: { value: questions },
      answer: { value: answer },
      partials: { value: (follow?: FollowOptions) => this.partials(run_id, follow) },
      file: { value: (file_id: string, call?: CallOptions) => this.file(file_id, call) },
    }) as RunAnswer & FollowedRun
  }

  /** Deletes a run that has ended: all that is stored of it, at once. */
  async delete(run_id: string, options: CallOptions = {}): Promise<void> {
    const response = await this.#service.call("DELETE", runPath(run_id), undefined, options, {})
    await response.body?.cancel()
  }

  /** Stores a file: a `Blob`, bytes, a stream, or the path of a file on disk. The same contents, name and type again are the same file. */
  async sendFile(contents: FileContents, options: SendFileOptions = {}): Promise<FileAnswer> {
    const { body, name, media_type } = await openContents(contents, options)
    const headers = this.#service.headers(headersOfFile(name, media_type))
    return objectIn<FileAnswer>(await this.#service.send("POST", "/files", body, options, headers))
  }

  /** The contents of a file, as they come. */
  async file(file_id: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#service.call("GET", filePath(file_id), undefined, options, {})
    return response.body ?? new Blob([]).stream()
  }

  /** The facts of a file, and which runs use it. */
  fileMeta(file_id: string, options: CallOptions = {}): Promise<FileMetaAnswer> {
    return this.#service.json<FileMetaAnswer>("GET", `${filePath(file_id)}/meta`, undefined, options)
  }

  /** A page of the caller's files, newest first. */
  files(
    query: { readonly limit?: number; readonly after?: string } = {},
    options: CallOptions = {},
  ): Promise<FilesAnswer> {
    return this.#service.json<FilesAnswer>("GET", `/files${queryOf(query)}`, undefined, options)
  }

  /** Deletes a file that no open run uses. */
  async deleteFile(file_id: string, options: CallOptions = {}): Promise<void> {
    const response = await this.#service.call("DELETE", filePath(file_id), undefined, options, {})
    await response.body?.cancel()
  }

  /** The files that a run got and made. */
  async runFiles(run_id: string, options: CallOptions = {}): Promise<RunFilesAnswer["files"]> {
    return (await this.#service.json<RunFilesAnswer>("GET", `${runPath(run_id)}/files`, undefined, options)).files
  }

  /** Scores a run by hand. A later one with the same name takes its place. */
  giveScore(run_id: string, body: GivenScore, options: CallOptions = {}): Promise<GivenScoreAnswer> {
    return this.#service.json<GivenScoreAnswer>("POST", `${runPath(run_id)}/scores`, body, options)
  }

  /** Counts, means and shares of scores by day, version or model. Without `from`: the last 30 days. */
  scores(query: ScoresRequest = {}, options: CallOptions = {}): Promise<ScoresAnswer> {
    return this.#service.json<ScoresAnswer>("GET", `/scores${queryOf(query)}`, undefined, options)
  }

  /** Sends an event to the caller's runs that wait for it. Name an `id`: with it an event can be sent again without a second effect. */
  async sendEvent(event: SendEventBody, options: CallOptions = {}): Promise<SentEventAnswer> {
    return this.#service.json<SentEventAnswer>("POST", "/events", event, options)
  }

  /** A page of the caller's events that are kept for later waits. */
  keptEvents(
    query: { readonly limit?: number; readonly after?: string } = {},
    options: CallOptions = {},
  ): Promise<KeptEvents> {
    return this.#service.json<KeptEvents>("GET", `/events${queryOf(query)}`, undefined, options)
  }

  /** Drops an event that is kept. */
  async dropEvent(id: string, options: CallOptions = {}): Promise<void> {
    const response = await this.#service.call("DELETE", `/events/${segment(id)}`, undefined, options, {})
    await response.body?.cancel()
  }

  /** A page of what the caller's runs wait for: events and times. */
  waits(
    query: { readonly event?: string; readonly key?: string; readonly limit?: number; readonly after?: string } = {},
    options: CallOptions = {},
  ): Promise<ListedWaits> {
    return this.#service.json<ListedWaits>("GET", `/waits${queryOf(query)}`, undefined, options)
  }

  async cancel(run_id: string, options: CallOptions = {}): Promise<CancelAnswer> {
    return this.#service.json<CancelAnswer>("POST", `${runPath(run_id)}/cancel`, undefined, options)
  }

  /** The schedules and webhooks of the server's workflows. */
  async triggers(options: CallOptions = {}): Promise<readonly TriggerAnswer[]> {
    return (await this.#service.json<TriggersAnswer>("GET", "/triggers", undefined, options)).triggers
  }

  /** Starts a schedule now. */
  runTrigger(workflow: string, name: string, options: CallOptions = {}): Promise<TriggeredAnswer> {
    return this.#service.json<TriggeredAnswer>("POST", triggerPath(workflow, name, "run"), undefined, options)
  }

  pauseTrigger(workflow: string, name: string, options: CallOptions = {}): Promise<TriggerAnswer> {
    return this.#service.json<TriggerAnswer>("POST", triggerPath(workflow, name, "pause"), undefined, options)
  }

  /** A schedule starts from now. */
  resumeTrigger(workflow: string, name: string, options: CallOptions = {}): Promise<TriggerAnswer> {
    return this.#service.json<TriggerAnswer>("POST", triggerPath(workflow, name, "resume"), undefined, options)
  }

  /** Sends a signed delivery to a webhook, as its sender would. The answer has no text where no run was started. */
  async deliver(
    workflow: string,
    name: string,
    delivery: { readonly body: string; readonly headers: Readonly<Record<string, string>> },
    options: CallOptions = {},
  ): Promise<{ readonly status: number; readonly text: string }> {
    const path = `/hooks/${workflow.split("/").map(segment).join("/")}/${segment(name)}`
    const response = await this.#service.send("POST", path, delivery.body, options, { ...delivery.headers })
    return { status: response.status, text: await response.text() }
  }

  /** The questions of a run, oldest first. */
  questions(run_id: string, options: CallOptions = {}): Promise<readonly Question[]> {
    const path = `${runPath(run_id)}/questions`
    return this.#service.pages<QuestionsAnswer, Question>(path, options, ({ questions }) => questions)
  }

  /** A page of what the caller may answer, over all runs, oldest first. */
  inbox(query: InboxRequest = {}, options: CallOptions = {}): Promise<QuestionsAnswer> {
    return this.#service.json<QuestionsAnswer>("GET", `/questions${queryOf(query)}`, undefined, options)
  }

  /** Answers a question of a run; an approval repeats the question's `digest`. The question with its answer. */
  async answer(run_id: string, id: string, body: AnswerBody, options: CallOptions = {}): Promise<Question> {
    return this.#service.json<Question>("POST", `${runPath(run_id)}/questions/${segment(id)}`, body, options)
  }

  async validate(body: ValidateBody | string, options: CallOptions = {}): Promise<ValidateAnswer> {
    return this.#service.json<ValidateAnswer>("POST", "/validate", withFiles(sourceBody(body)), options)
  }

  format(body: SourceBody | string, options: CallOptions = {}): Promise<FormatAnswer> {
    return this.#service.json<FormatAnswer>("POST", "/format", sourceBody(body), options)
  }

  invalidateCache(cache_key: string, options: CallOptions = {}): Promise<InvalidateAnswer> {
    return this.#service.json<InvalidateAnswer>("POST", "/cache/invalidate", { cache_key }, options)
  }

  // ---------------------------------------------------------------------------------------------------- streams

  #follow<Output>(
    open: () => Promise<Response>,
    options: Omit<StreamOptions, "idempotencyKey">,
    after: number,
  ): AsyncGenerator<StreamEvent<Output>, void> {
    const resume = (run_id: string, last: number): Promise<Response> => this.#events(run_id, last, options)
    const events = followStream({ ...options, open, resume, after, maxReconnects: this.#maxReconnects })
    return events as AsyncGenerator<StreamEvent<Output>, void>
  }

  #events(run_id: string, after: number, options: CallOptions): Promise<Response> {
    const headers = { accept: "text/event-stream", "last-event-id": String(after) }
    return this.#service.call("GET", `${runPath(run_id)}/events`, undefined, options, headers)
  }
}

/** The open question of a step, else its last one. */
function questionNamed(all: readonly Question[], step: string, iteration: number | undefined): Question {
  const named = all.filter(
    (one) => one.name === step && (iteration === undefined || (one.iteration ?? null) === iteration),
  )
  const own = named.filter(({ scope }) => scope === undefined)
  const found = own.length > 0 ? own : named
  const open = found.filter(isOpen)
  if (open.length > 1) throw new Error(`${open.length} questions of ${step} are open: say which with \`iteration\``)
  const question = open[0] ?? found.at(-1)
  if (question === undefined) throw new Error(`The run has not asked ${step}`)
  return question
}

function isOpen({ status }: Question): boolean {
  return status === "open"
}

/** `crypto.randomUUID` is not there on pages that came over plain HTTP. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")
}

function keyHeader(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { "idempotency-key": key }
}

function sourceBody<T extends object>(body: T | string): T | SourceBody {
  return typeof body === "string" ? { workflow_source: body } : body
}

/** A `file` without a source is one on disk. */
function withFiles<T extends SourceBody>(body: T): T {
  const { file, modules, workflow_source, workflow_source_base64 } = body
  if (typeof file !== "string" || (modules ?? workflow_source ?? workflow_source_base64 ?? null) !== null) return body
  return { ...body, ...filesOnDisk(file) }
}

function workflowPath(name: string): string {
  return `/workflows/${name.split("/").map(segment).join("/")}`
}

function versionPath(name: string, version: string): string {
  return `${workflowPath(name)}/versions/${segment(version)}`
}

function triggerPath(workflow: string, name: string, act: string): string {
  return `/triggers/${workflow.split("/").map(segment).join("/")}/${segment(name)}/${act}`
}

function filePath(file_id: string): string {
  return `/files/${segment(file_id)}`
}

function runPath(run_id: string): string {
  return `/execute/${segment(run_id)}`
}
