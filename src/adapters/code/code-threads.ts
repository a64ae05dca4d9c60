import { availableParallelism } from "node:os"
import { Worker } from "node:worker_threads"
import { FairQueue } from "../../base/fair-queue.ts"
import { codeMemoryBytes, codeResultBytes } from "../../base/limits.ts"
import type { CodeAnswer, CodeCall, CodeHost, CodeSession } from "../../ports/code.ts"
import type { CheckedCode, CodeFiles } from "../../source/code-files.ts"
import type { CodeThreadData, FromCodeThread, ToCodeThread } from "./code-thread.ts"
import type { SandboxLimits } from "./sandbox.ts"

export interface CodeThreadsOptions {
  /** CPU of one call. */
  readonly callMs: number
  readonly memoryBytes?: number
  readonly resultBytes?: number
  readonly threads?: number
  /** How long a thread may take for a call of which its interpreter does not see the end. */
  readonly patienceMs?: number
}

/** Interpreters recurse in WebAssembly, whose frames are on the stack of the thread. */
const stackMegabytes = 16
const heapMegabytes = 256

/** Many calls together have so much time at most. */
const longestMs = 10 * 60_000

/**
 * Runs code in a few threads, which start when they are first needed. A session has a thread for itself until it is closed; callers take
 * turns where all are taken. A thread whose call does not end is stopped, and with it nothing else.
 */
export class CodeThreads implements CodeHost {
  readonly #limits: SandboxLimits
  readonly #most: number
  readonly #patienceMs: number
  readonly #idle: CodeThread[] = []
  readonly #all = new Set<CodeThread>()
  readonly #waiting = new FairQueue<(thread: CodeThread) => void>()
  #lastId = 0

  constructor({
    callMs,
    memoryBytes = codeMemoryBytes,
    resultBytes = codeResultBytes,
    threads,
    patienceMs,
  }: CodeThreadsOptions) {
    this.#limits = { callMs, memoryBytes, resultBytes }
    this.#most = threads ?? Math.max(1, Math.min(4, availableParallelism()))
    this.#patienceMs = patienceMs ?? 10 * callMs + 5_000
  }

  open(nowMs: number, share: string): CodeSession {
    return new ThreadSession((take) => this.#line(share, take), nowMs)
  }

  async check(code: CodeFiles, share: string): Promise<CheckedCode> {
    const thread = await new Promise<CodeThread>((resolve) => void this.#line(share, resolve))
    try {
      const found = await thread.ask({ kind: "check", code })
      if (found === null) {
        const message = `Loading it takes more than ${this.#limits.callMs} ms of CPU, or too much memory`
        return { problem: { kind: "invalid-code", message, file: code.entry, line: null, column: null } }
      }
      if (!("checked" in found)) throw new Error("A thread gave another answer than was asked for")
      return found.checked
    } finally {
      thread.leave()
    }
  }

  async close(): Promise<void> {
    for (const id of this.#waiting.ids()) this.#waiting.remove(id)
    await Promise.all([...this.#all].map((thread) => thread.stop()))
  }

  /** Gives a thread as soon as there is one; the result gives up the place in the line. */
  #line(share: string, take: (thread: CodeThread) => void): () => void {
    const id = String(++this.#lastId)
    this.#waiting.add(share, id, take)
    this.#serve()
    return () => void this.#waiting.remove(id)
  }

  #serve(): void {
    while (this.#waiting.size > 0) {
      const thread = this.#idle.pop() ?? (this.#all.size < this.#most ? this.#start() : undefined)
      if (thread === undefined) return
      const id = this.#waiting.next(() => true)
      const take = id === undefined ? undefined : this.#waiting.remove(id)
      take?.(thread)
    }
  }

  #start(): CodeThread {
    const thread = new CodeThread({ limits: this.#limits }, this.#patienceMs, {
      free: () => {
        this.#idle.push(thread)
        this.#serve()
      },
      gone: () => {
        this.#all.delete(thread)
        const at = this.#idle.indexOf(thread)
        if (at >= 0) this.#idle.splice(at, 1)
        this.#serve()
      },
    })
    this.#all.add(thread)
    return thread
  }
}

class ThreadSession implements CodeSession {
  #thread: Promise<CodeThread> | null = null
  #taken: CodeThread | null = null
  #giveUp: () => void = () => undefined
  readonly #line: (take: (thread: CodeThread) => void) => () => void
  readonly #nowMs: number
  /** Calls happen one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  /** Code files that the thread has the texts of. */
  readonly #sent = new Set<string>()
  #isBusy = false
  #isClosed = false

  constructor(line: (take: (thread: CodeThread) => void) => () => void, nowMs: number) {
    this.#line = line
    this.#nowMs = nowMs
  }

  callAll(calls: readonly CodeCall[]): Promise<CodeAnswer[]> {
    const answers = this.#isBusy ? this.#last.then(() => this.#callAll(calls)) : this.#callAll(calls)
    this.#last = answers
    return answers
  }

  async #callAll(calls: readonly CodeCall[]): Promise<CodeAnswer[]> {
    this.#isBusy = true
    const thread = this.#taken ?? (await this.#takeThread())
    const bare = calls.map((call) => {
      const { entry } = call.code
      const isSent = this.#sent.has(entry)
      this.#sent.add(entry)
      return isSent ? { ...call, code: { entry, texts: {} } } : call
    })
    const found = await thread.ask({ kind: "calls", calls: bare }, calls.length)
    this.#isBusy = false
    if (found === null) return [{ kind: "limit", limit: "call", logs: "", cpuMs: calls[0]?.leftMs ?? 0 }]
    if (!("answers" in found)) throw new Error("A thread gave another answer than was asked for")
    return [...found.answers]
  }

  #takeThread(): Promise<CodeThread> {
    this.#thread ??= new Promise((resolve) => {
      this.#giveUp = this.#line((thread) => {
        // It was closed while it waited.
        if (this.#isClosed) return thread.leave()
        this.#taken = thread
        thread.send({ kind: "open", nowMs: this.#nowMs })
        resolve(thread)
      })
    })
    return this.#thread
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#giveUp()
    if (this.#taken === null) return
    if (this.#isBusy) void this.#taken.stop()
    else {
      this.#taken.send({ kind: "close" })
      this.#taken.leave()
    }
  }
}

/** A thread, as the service sees it. */
class CodeThread {
  readonly #worker: Worker
  readonly #patienceMs: number
  readonly #pool: { free(): void; gone(): void }
  #answer: ((answer: FromCodeThread | null) => void) | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(data: CodeThreadData, patienceMs: number, pool: { free(): void; gone(): void }) {
    this.#patienceMs = patienceMs
    this.#pool = pool
    this.#worker = new Worker(threadFile(), {
      name: "code",
      workerData: data,
      env: {},
      // Node says that the function that takes types off is experimental.
      execArgv: ["--disable-warning=ExperimentalWarning"],
      resourceLimits: { stackSizeMb: stackMegabytes, maxOldGenerationSizeMb: heapMegabytes },
    })
    this.#worker.unref()
    this.#worker.on("message", (message: FromCodeThread) => this.#settle(message))
    this.#worker.on("error", (error) => {
      // A full heap ends it as a limit does. Anything else is a bug.
      const isFull = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"
      if (!isFull) this.#settle({ bug: error.stack ?? error.message })
      void this.stop()
    })
    this.#worker.on("exit", () => void this.stop())
  }

  send(message: ToCodeThread): void {
    this.#worker.postMessage(message)
  }

  /** Null where the thread did not live to answer. */
  async ask(message: ToCodeThread, calls = 1): Promise<FromCodeThread | null> {
    if (this.#isStopped) return null
    const found = await new Promise<FromCodeThread | null>((resolve) => {
      this.#answer = resolve
      this.#timer = setTimeout(() => void this.stop(), Math.min(calls * this.#patienceMs, longestMs))
      this.#worker.ref()
      this.send(message)
    })
    if (found !== null && "bug" in found) throw new Error(`A thread for code met a bug: ${found.bug}`)
    return found
  }

  leave(): void {
    if (!this.#isStopped) this.#pool.free()
  }

  async stop(): Promise<void> {
    if (!this.#isStopped) {
      this.#isStopped = true
      this.#pool.gone()
    }
    this.#settle(null)
    await this.#worker.terminate()
  }

  #settle(answer: FromCodeThread | null): void {
    const settled = this.#answer
    this.#answer = null
    clearTimeout(this.#timer)
    this.#worker.unref()
    settled?.(answer)
  }
}

/** Beside this file in the sources, beside the bundle that this file has become a part of. */
function threadFile(): URL {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"
  return new URL(`./code-thread.${extension}`, import.meta.url)
}
