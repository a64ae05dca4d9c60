import { events } from "../../src/log/event-schemas.ts"
import type { Job } from "./client.ts"
import { allNestedFeatures, nestedFeatures } from "./nested.ts"

// How often each fault, and each part of the language and of a request, comes up. What never does proves nothing.

/** By name: what of a source shows that it uses it. */
const languageFeatures: Readonly<Record<string, RegExp>> = {
  "a loop": /^agent \w+ for/m,
  "a loop over results": /^agent \w+ for item in agent/m,
  "a condition": /^agent [^{]* when /m,
  "a condition on a result": /^agent [^{]* when .*agent\.\w+\??\./m,
  "a condition on an answer": /^agent [^{]* when .*ask\./m,
  "on_failure: skip": /on_failure: skip/,
  "fallback models": /model: \[/,
  "inference of an agent": /inference \{/,
  "a context": /context: agent/,
  "a context that is compacted": /context: compact/,
  "a context that may be missing": /!= null/,
  max_steps: /max_steps/,
  "a requirement of a question": /^ +require result\.go/m,
  "values of the run": /^output \{ ran: /m,
  "a requirement": /^ +require result\.n != /m,
  "a requirement that no output fulfils": /^ +require result\.n > 6/m,
  "concurrency of a loop": /^agent \w+ for[\s\S]*?^ +concurrency/m,
  "concurrency of questions": /^ask \w+ for[\s\S]*?^ +concurrency/m,
  "max_calls of an import": /^tool .*max_calls/m,
  "max_calls of a use": /uses: .*max_calls/,
  "limits of the workflow": /^limits/m,
  "limits of an agent": /^ +limits/m,
  "a question": /^ask /m,
  "a question for each item": /^ask \w+ for/m,
  "a question with a condition": /^ask .* when/m,
  "a question to a group": /^ +to: /m,
  "an approval": /approval/,
  "a server that asks": /elicitation/,
  "an approval of an idempotent call": /^tool look .*approval/m,
  "a dynamic value": /^dynamic/m,
  "a dynamic value of an agent": /^ +dynamic/m,
  "a match": / match /,
  "a match that calls": /match .* call /,
  "a list that calls": /^dynamic .* for one in/m,
  "a list that calls, in a list": /^dynamic .* for two in/m,
  "a list that calls, of an agent": /^ +dynamic .* for one in/m,
  "a call that may fail": /(?:input|bindings) \{[^}]*\{\{[^}]*\}\}[^}]*\} on_failure: skip/,
  "a resource that is read": /read resource/,
  "a resource that a model may read": /uses: .*resource/,
  "a prompt that is rendered": /render prompt/,
  "a prompt in the messages": /uses: .*prompt/,
  "a secret": /^secrets/m,
  "an asset": /asset "/,
  "a tool of an api": /^tool look from api/m,
  "a tool of an api that takes a key": /^tool note from api.*idempotent/m,
  "a tool of an api that is bound to a secret": /^tool mark from api/m,
  "a file": /file \{/,
}

const requestFeature: Readonly<Record<string, (job: Job) => boolean>> = {
  "a cache key": ({ options }) => options.cache_key !== null,
  max_concurrency: ({ options }) => options.max_concurrency !== null,
  deltas: ({ options }) => options.deltas,
  timeout_ms: ({ timeout_ms }) => timeout_ms !== null,
  limits: ({ limits }) => limits !== null,
  notify: ({ notify }) => notify !== null,
  "no idempotency key": ({ key }) => key === null,
  "a client that waits for JSON": ({ isJson }) => isJson,
  "a workflow with a name": ({ named }) => named,
  "a secret of the server": ({ named, source }) => named && source.includes("secrets {"),
}

/** What a request has, as it is counted. */
export function requestFeatures(job: Job): string[] {
  const language = Object.entries(languageFeatures).filter(([, pattern]) => pattern.test(job.source))
  const request = Object.entries(requestFeature).filter(([, has]) => has(job))
  const named = [...language.map(([name]) => name), ...new Set(nestedFeatures(job.source))]
  return [...named.map((name) => `language: ${name}`), ...request.map(([name]) => `request: ${name}`)]
}

const happenings = [
  "api: answers with an error",
  "api: does not answer in time",
  "api: done without an answer",
  "api: is busy",
  "api: is out of reach",
  "api: is sent a key again",
  "announcement: arrives twice",
  "announcement: gets lost",
  "client: a second one asks for the same",
  "client: answers",
  "client: answers twice",
  "client: an answer is refused",
  "client: cancels",
  "client: is given the run of its key",
  "client: is refused",
  "client: leaves, and comes back",
  "client: leaves while it waits for JSON",
  "client: repeats the request with the same key",
  "client: runs again",
  "client: runs again from a step",
  "client: runs an edited workflow again",
  "lease: runs out while its process is dead",
  "lease: runs out while its process is paused",
  "lease: runs out while its process is running",
  "model: answers after an abort",
  "model: fails",
  "model: fails, and is asked again",
  "model: hangs",
  "model: slow",
  "process: crashes",
  "process: crashes in place of its next step",
  "process: is told to stop",
  "process: its clock is set",
  "process: its clock is wrong",
  "process: stands still",
  "process: stands still in place of its next step",
  "receiver: its answer gets lost",
  "receiver: out of reach",
  "receiver: refuses",
  "store: done after it has failed",
  "store: done for a process that is dead",
  "store: done without an answer",
  "store: fails",
  "store: slow",
  "tools: answers after an abort",
  "tools: answers with an error",
  "tools: asks",
  "tools: done without an answer",
  "tools: fails",
  "tools: hangs",
  "tools: slow",
  "tools: the server is out of reach",
]

/**
 * Events that no history has: a suspect runs alone for half a minute (src/run/suspects.test.ts), simulated models stand in front of rates (src/run/budget/rates.test.ts)
 * and of batches (test/run/batch-crashes.test.ts), waits and moves have histories of their own (moves in test/run/moving.test.ts), and
 * no simulated model has tools of its own (test/contract/http/hosted-tools.test.ts).
 */
const notHere: readonly string[] = [
  "run_survived",
  "model_call_waiting",
  "hosted_tool_used",
  "batch_prepared",
  "batch_submitted",
  "batch_repeated",
  "batch_left",
  "wait_started",
  "wait_ended",
  "run_moved",
  "question_withdrawn",
]

/** Adds histories up. */
export class Coverage {
  readonly #histories = new Map<string, number>()
  readonly #times = new Map<string, number>()
  #count = 0

  constructor() {
    const eventTypes = Object.keys(events)
      .filter((type) => !notHere.includes(type))
      .map((type) => `event: ${type}`)
    const language = [...Object.keys(languageFeatures), ...allNestedFeatures].map((name) => `language: ${name}`)
    const request = Object.keys(requestFeature).map((name) => `request: ${name}`)
    for (const name of [...happenings, ...eventTypes, ...language, ...request]) this.#histories.set(name, 0)
  }

  add(counts: ReadonlyMap<string, number>): void {
    this.#count++
    for (const [name, times] of counts) {
      this.#histories.set(name, (this.#histories.get(name) ?? 0) + 1)
      this.#times.set(name, (this.#times.get(name) ?? 0) + times)
    }
  }

  /** A line for each: in how many of a hundred histories, and how often in all. */
  table(): string[] {
    return [...this.#histories]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, histories]) => {
        const share = ((100 * histories) / this.#count).toFixed(1)
        // The rarest come up in six histories of a thousand. A higher bound could be missed by chance.
        const mark = histories === 0 ? "NONE" : "    "
        return `${mark} ${share.padStart(5)} % ${String(this.#times.get(name) ?? 0).padStart(7)}  ${name}`
      })
  }
}
