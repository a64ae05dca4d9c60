import { cutText } from "../../base/cut-text.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { codeMessageLength } from "../../base/limits.ts"
import type { CodeAnswer, CodeCall, CodeHost, CodeSession } from "../../ports/code.ts"
import { failure, type RunFailure } from "../../ports/run-failure.ts"
import { validateValue } from "../../types/validate-value.ts"
import { TakesLong } from "./evaluation-work.ts"
import { parseJson, whyUnread } from "./parse-json.ts"
import { problem, type CodeContext, type CodeRequest, type CodeRunner, type CodeSlot, type Scope } from "./scope.ts"

/** CPU and output of code that a run, with all that it calls, may still use. */
export interface CodeUse {
  leftMs: number
  logLeft: number
}

export interface RunCodeOptions {
  readonly host: (() => Promise<CodeHost>) | undefined
  readonly use: CodeUse
  /** Names the run, and the call of a workflow within it: random numbers are made from it. */
  readonly seed: string
  /** The caller, as callers take turns. */
  readonly share: string
  /** What time it is in the code. */
  readonly now: () => number
  readonly signal: AbortSignal
  /** While the work is under way the run does something. */
  readonly busy: <T>(work: Promise<T>) => Promise<T>
}

/** The code of a run, or of a workflow that it calls. */
export class RunCode implements CodeRunner {
  readonly #options: RunCodeOptions
  /** What code has written, by the step that called it. */
  readonly #logs = new Map<string, string>()

  constructor(options: RunCodeOptions) {
    this.#options = options
  }

  within<T>(scope: Scope, evaluate: (inner: Scope) => T | Promise<T>): Promise<T> {
    const context = new SandboxContext(this.#options, (text) => this.#keep(scope, text))
    return this.#options.busy(evaluateIn(context, scope, evaluate))
  }

  #keep({ path, iteration }: Scope, text: string): void {
    const { use } = this.#options
    if (use.logLeft <= 0) return
    const kept = cutText(text, use.logLeft)
    use.logLeft -= text.length
    const key = logKey(path, iteration)
    this.#logs.set(key, (this.#logs.get(key) ?? "") + kept)
  }

  /** What was written in a step, for the event that completes it. */
  logsOf(step: string, iteration: number | null = null): { readonly logs?: string } {
    if (this.#logs.size === 0) return {}
    // What the list of a loop has written goes with its first step.
    const keys = new Set([logKey(step, null), logKey(step, iteration)])
    const logs = [...keys].map((key) => this.#logs.get(key) ?? "").join("")
    for (const key of keys) this.#logs.delete(key)
    return logs === "" ? {} : { logs }
  }
}

/** `agent.a.instruction` is a part of `agent.a`, `output.best` one of `output`. */
function logKey(path: string, iteration: number | null): string {
  const [kind = "", name = ""] = path.split(/[.[]/)
  return `${kind === "output" ? kind : `${kind}.${name}`} ${iteration ?? ""}`
}

async function evaluateIn<T>(
  context: SandboxContext,
  scope: Scope,
  evaluate: (inner: Scope) => T | Promise<T>,
): Promise<T> {
  try {
    return await evaluate({ ...scope, codeContext: context })
  } finally {
    context.close()
  }
}

class SandboxContext implements CodeContext {
  readonly #options: RunCodeOptions
  readonly #log: (text: string) => void
  #session: Promise<CodeSession> | null = null
  #calls = 0

  constructor(options: RunCodeOptions, log: (text: string) => void) {
    this.#options = options
    this.#log = log
  }

  async call(request: CodeRequest): Promise<JsonValue> {
    const [value = null] = await this.callAll([request])
    return value
  }

  async callAll(requests: readonly CodeRequest[]): Promise<JsonValue[]> {
    const { use, signal, now } = this.#options
    signal.throwIfAborted()
    this.#session ??= this.#open(now())
    const calls = requests.map(({ called, expression, args, scope }): CodeCall => {
      if (called.code === undefined) throw new Error(`${expression.name} is not code`)
      const place = [this.#options.seed, scope.path, scope.iteration ?? "", scope.positions.join("."), this.#calls++]
      return { code: called.code.files, name: called.code.name, args, seed: place.join("/"), leftMs: use.leftMs }
    })
    const session = await orAborted(this.#session, signal)
    const answers = await orAborted(session.callAll(calls), signal)
    const values: JsonValue[] = []
    for (const [at, answer] of answers.entries()) {
      const request = requests[at]
      if (request === undefined) break
      use.leftMs -= answer.cpuMs
      if (answer.logs !== "") this.#log(answer.logs)
      values.push(valueOf(answer, request))
    }
    return values
  }

  async #open(nowMs: number): Promise<CodeSession> {
    const { host, share } = this.#options
    if (host === undefined) throw failure("evaluation_error", "", "This service runs no code (WIRE_CODE)")
    return (await host()).open(nowMs, share)
  }

  close(): void {
    this.#session?.then(
      (session) => session.close(),
      () => undefined,
    )
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) return stop()
    signal.addEventListener("abort", stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop))
  })
}

function valueOf(answer: CodeAnswer, request: CodeRequest): JsonValue {
  const { expression, called, scope } = request
  const { path, work } = scope
  const file = called.code?.files.entry ?? ""
  switch (answer.kind) {
    case "limit":
      throw failure("limit_exceeded", path, `\`${expression.name}\` of ${file} ${beyond(answer)}`)
    case "failed": {
      const place = answer.place === null ? "" : ` (${answer.place})`
      throw problem(expression.text, `${cutText(answer.message, codeMessageLength)}${place}`, scope)
    }
    case "value": {
      work.text(answer.text.length, path)
      const value = parseJson(answer.text)
      if (value === undefined) throw unread(answer.text, request)
      work.part(value, 0, path)
      const { result } = called
      if (result === null) return value
      const [misfit] = validateValue(value, result, scope.functions?.types ?? {}, "result", { most: 1 })
      if (misfit !== undefined) throw problem(expression.text, misfit.message, scope)
      return value
    }
  }
}

function unread(text: string, { expression, scope }: CodeRequest): RunFailure {
  const { problem: why, isLimit } = whyUnread(text)
  const message = `the result ${why}`
  return isLimit
    ? failure("limit_exceeded", scope.path, `Cannot evaluate ${expression.text}: ${message}`)
    : problem(expression.text, message, scope)
}

function beyond(answer: Extract<CodeAnswer, { kind: "limit" }>): string {
  switch (answer.limit) {
    case "call":
      return "takes more CPU than one call may (WIRE_CODE_MS)"
    case "run":
      return "takes more CPU than the code of a run may (WIRE_CODE_MS_PER_RUN)"
    case "memory":
      return "takes more memory than code may (64 MiB)"
    case "result":
      return "gives a result larger than 8 MiB"
    case "recursion":
      return "calls itself too deep, or takes more memory than code may"
  }
}

export class ItemSlot implements CodeSlot {
  request: CodeRequest | null = null
  answer: JsonValue | undefined
  /** What the item comes to. */
  value: JsonValue | undefined

  take(request: CodeRequest): JsonValue {
    if (this.answer !== undefined) return this.answer
    this.request = request
    throw new TakesLong()
  }
}
