import { stripTypeScriptTypes } from "node:module"
import { EvalFlags, Intrinsics, JSException, QuickJS, type JSValueHandle } from "quickjs-wasi"
import { resolveCode } from "../../base/module-path.ts"
import type { CodeAnswer, CodeCall } from "../../ports/code.ts"
import type { CheckedCode, CodeExports, CodeFiles, CodeProblem } from "../../source/code-files.ts"
import { guest } from "./guest.ts"

export interface SandboxLimits {
  /** CPU of one call, and of loading a file. */
  readonly callMs: number
  readonly memoryBytes: number
  readonly resultBytes: number
}

const stackBytes = 512 * 1024

/** Without clocks of their own, and without names that are not ECMAScript's. */
const intrinsics = Intrinsics.ALL & ~(Intrinsics.PERFORMANCE | Intrinsics.ATOB_BTOA | Intrinsics.DOM_EXCEPTION)

/** CPU of this thread. An older Node tells none: then it is time. */
function spentMs(): number {
  if (!("threadCpuUsage" in process)) return performance.now()
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

interface Helpers {
  readonly call: JSValueHandle
  readonly describe: JSValueHandle
  readonly exported: JSValueHandle
  readonly taken: JSValueHandle
}

/** A code file that cannot be loaded. */
class Unloadable extends Error {
  readonly problem: CodeProblem

  constructor(problem: CodeProblem) {
    super(problem.message)
    this.problem = problem
  }
}

/**
 * One context of QuickJS in a WebAssembly instance of its own. The instance imports the functions that the interpreter needs of a system,
 * and nothing of what is given here reaches out: the time is fixed, output is dropped, modules come from a map of texts.
 */
export class Sandbox {
  readonly #vm: QuickJS
  readonly #limits: SandboxLimits
  readonly #watch: Watch
  readonly #loader: Loader
  readonly #helpers: Helpers
  readonly #modules = new Map<string, JSValueHandle>()
  /** What ended it: the interpreter cannot go on after that. */
  #broken: CodeAnswer | null = null

  private constructor(vm: QuickJS, limits: SandboxLimits, watch: Watch, loader: Loader) {
    this.#vm = vm
    this.#limits = limits
    this.#watch = watch
    this.#loader = loader
    const made = vm.evalCode(guest, "<sandbox>")
    const [call, describe, exported, taken] = ["0", "1", "2", "3"].map((at) => made.getProp(at))
    if (!call || !describe || !exported || !taken) throw new Error("The guest has four helpers")
    this.#helpers = { call, describe, exported, taken }
  }

  static async open(wasm: WebAssembly.Module, nowMs: number, limits: SandboxLimits): Promise<Sandbox> {
    const watch = new Watch()
    const loader = new Loader(watch)
    const vm = await QuickJS.create({
      wasm,
      intrinsics,
      memoryLimit: limits.memoryBytes,
      maxStackSize: stackBytes,
      timezoneOffset: 0,
      interruptHandler: () => watch.isOver,
      moduleLoader: loader,
      wasi: (memory: { readonly buffer: ArrayBuffer }) => ({
        clock_time_get(_clock: number, _precision: bigint, result: number) {
          new DataView(memory.buffer).setBigUint64(result, BigInt(Math.trunc(nowMs)) * 1_000_000n, true)
          return 0
        },
        random_get(buffer: number, length: number) {
          new Uint8Array(memory.buffer, buffer, length).fill(0)
          return 0
        },
        fd_write: () => badFile,
      }),
    })
    return new Sandbox(vm, limits, watch, loader)
  }

  async check(code: CodeFiles): Promise<CheckedCode> {
    this.#watch.start(this.#limits.callMs, Infinity)
    try {
      const module = await this.#load(code)
      const found = this.#vm.callFunction(this.#helpers.exported, this.#vm.undefined, module).toString()
      return { exports: Object.fromEntries(JSON.parse(found) as [string, CodeExports[string]][]) }
    } catch (error) {
      return { problem: this.#problem(error, code.entry) }
    }
  }

  async call(call: CodeCall): Promise<CodeAnswer> {
    if (this.#broken !== null) return this.#broken
    this.#watch.start(this.#limits.callMs, call.leftMs)
    let answer: CodeAnswer
    try {
      answer = await this.#called(call)
    } catch (error) {
      answer = this.#failed(error, call)
    }
    return answer
  }

  async #called({ code, name, args, seed }: CodeCall): Promise<CodeAnswer> {
    const module = await this.#load(code)
    const { resultBytes } = this.#limits
    const vm = this.#vm
    const own = module.getProp(name)
    const called = own.isUndefined ? module.getProp("default") : own
    const given = [called, vm.newString(args), vm.newString(seed), vm.newNumber(resultBytes)]
    const made = vm.callFunction(this.#helpers.call, vm.undefined, ...given)
    for (const handle of given) handle.dispose()
    const text = made.toString()
    made.dispose()
    const logs = this.#logs()
    const about = { logs, cpuMs: this.#watch.spent }
    if (text.startsWith("E")) return { ...about, kind: "failed", message: text.slice(1), place: code.entry }
    if (text.startsWith("L") || Buffer.byteLength(text) > resultBytes + 1) {
      return { ...about, kind: "limit", limit: "result" }
    }
    return { ...about, kind: "value", text: text.slice(1) }
  }

  #logs(): string {
    const logs = this.#vm.callFunction(this.#helpers.taken, this.#vm.undefined)
    const text = logs.toString()
    logs.dispose()
    return text
  }

  #failed(error: unknown, { code }: CodeCall): CodeAnswer {
    const about = { logs: "", cpuMs: this.#watch.spent }
    const over = this.#watch.over
    if (over !== null) return (this.#broken = { ...about, kind: "limit", limit: over })
    if (error instanceof Unloadable) {
      const { message, file, line } = error.problem
      return { ...about, kind: "failed", message, place: placed(file, line) }
    }
    if (isBug(error)) throw error
    // The instance itself: nothing in it can be relied on any more.
    if (!(error instanceof JSException)) {
      const limit = error instanceof RangeError ? "recursion" : "memory"
      return (this.#broken = { ...about, kind: "limit", limit })
    }
    const described = this.#described(error)
    if (described === null || described.message === "InternalError: out of memory") {
      return (this.#broken = { ...about, kind: "limit", limit: this.#watch.over ?? "memory" })
    }
    const { message, place, logs } = described
    const shown = placed(place?.file ?? code.entry, place?.line ?? null)
    return { ...about, logs, kind: "failed", message, place: shown }
  }

  /** Null where the code has used up what it takes to say so. */
  #described(error: JSException): Described | null {
    try {
      const shown = this.#vm.callFunction(this.#helpers.describe, this.#vm.undefined, error.handle)
      const [message = "", stack = ""] = JSON.parse(shown.toString()) as string[]
      shown.dispose()
      error.dispose()
      return { message, place: placesIn(stack, this.#loader.files)[0], logs: this.#logs() }
    } catch (failed) {
      if (isBug(failed)) throw failed
      return null
    }
  }

  async #load(code: CodeFiles): Promise<JSValueHandle> {
    const known = this.#modules.get(code.entry)
    if (known !== undefined) return known
    const vm = this.#vm
    const text = `import * as module from ${JSON.stringify(`./${code.entry}`)}\nexport { module }`
    const promise = this.#loader.whileLoading(code, () => vm.evalCode(text, "", EvalFlags.TYPE_MODULE))
    vm.executePendingJobs()
    if (promise.promiseState === 0) {
      throw new Unloadable(problemAt(code.entry, "A code file is loaded at once: it cannot wait for a promise"))
    }
    const settled = await vm.resolvePromise(promise)
    if ("error" in settled) throw new JSException(settled.error)
    const module = settled.value.getProp("module")
    this.#modules.set(code.entry, module)
    return module
  }

  #problem(error: unknown, entry: string): CodeProblem {
    const over = this.#watch.over
    if (over !== null) return problemAt(entry, `Loading it takes more than ${this.#limits.callMs} ms of CPU`)
    if (error instanceof Unloadable) return error.problem
    if (this.#loader.problem !== null) return this.#loader.problem
    if (isBug(error)) throw error
    const described = error instanceof JSException ? this.#described(error) : null
    if (described === null) return problemAt(entry, "Loading it takes too much memory, or nests too deeply")
    return { ...problemAt(entry, described.message), ...described.place }
  }
}

interface Described {
  readonly message: string
  readonly place: Place | undefined
  readonly logs: string
}

/** What the interpreter throws, when its memory or its stack is full, is neither of these. */
function isBug(error: unknown): boolean {
  return (error instanceof TypeError || error instanceof ReferenceError) && !(error instanceof JSException)
}

/** WASI's EBADF. */
const badFile = 8

function problemAt(file: string, message: string): CodeProblem {
  return { kind: "invalid-code", message, file, line: null, column: null }
}

function placed(file: string, line: number | null): string {
  return line === null ? file : `${file}:${line}`
}

interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** The places of code files in a stack trace, the innermost first. */
function placesIn(stack: string, files: ReadonlySet<string>): Place[] {
  return stack.split("\n").flatMap((line) => {
    // `at name (file:line:column)`, or `at file:line:column`
    const text = line.trim()
    const place = text.endsWith(")") ? text.slice(text.lastIndexOf("(") + 1, -1) : text.replace(/^at /, "")
    const [column = "", row = "", ...path] = place.split(":").toReversed()
    const file = path.toReversed().join(":")
    if (!files.has(file) || !/^\d+$/.test(row) || !/^\d+$/.test(column)) return []
    return [{ file, line: Number(row), column: Number(column) }]
  })
}

/** Counts the CPU of a call. */
class Watch {
  #began = 0
  #beganAt = 0
  #callMs = Infinity
  #leftMs = Infinity
  #over: "call" | "run" | null = null

  start(callMs: number, leftMs: number): void {
    this.#began = spentMs()
    this.#beganAt = performance.now()
    this.#callMs = callMs
    this.#leftMs = leftMs
    this.#over = null
  }

  /** Does what the code is not to blame for: the eraser of types is compiled when it is first used. */
  without<T>(work: () => T): T {
    const began = spentMs()
    const beganAt = performance.now()
    try {
      return work()
    } finally {
      this.#began += spentMs() - began
      this.#beganAt += performance.now() - beganAt
    }
  }

  get over(): "call" | "run" | null {
    return this.#over
  }

  get spent(): number {
    return spentMs() - this.#began
  }

  get isOver(): boolean {
    const most = Math.min(this.#callMs, this.#leftMs)
    // A thread uses no more CPU than time has passed, and asking for the time is cheap.
    if (this.#over === null && performance.now() - this.#beganAt >= most && this.spent >= most) {
      this.#over = this.#leftMs < this.#callMs ? "run" : "call"
    }
    return this.#over !== null
  }
}

/** Gives the interpreter the texts of modules, while a code file is loaded: later imports find nothing. */
class Loader {
  readonly files = new Set<string>()
  problem: CodeProblem | null = null
  readonly #watch: Watch
  #texts: ReadonlyMap<string, string> | null = null

  constructor(watch: Watch) {
    this.#watch = watch
  }

  whileLoading<T>(code: CodeFiles, work: () => T): T {
    this.#texts = new Map(Object.entries(code.texts))
    try {
      return work()
    } finally {
      this.#texts = null
    }
  }

  normalize = (from: string, written: string): string => {
    const path = resolveCode(from, written)
    if (this.#texts === null) throw new Error("import() is not available: import the file at the top")
    if (path === null) {
      this.#refuse(
        "invalid-code",
        from,
        `A code file imports other code files by relative paths alone, not ${JSON.stringify(written.slice(0, 200))}`,
      )
    } else if (!this.#texts.has(path)) this.#refuse("unknown-file", from, `There is no file ${path}`)
    else return path
    throw new Error(this.problem?.message)
  }

  load = (path: string): string => {
    const text = this.#texts?.get(path)
    if (text === undefined) throw new Error(`There is no file ${path}`)
    this.files.add(path)
    if (!path.endsWith(".ts")) return text
    try {
      return this.#watch.without(() => stripTypeScriptTypes(text))
    } catch (error) {
      this.problem ??= erasureProblem(path, text, error)
      throw new Error("The file has syntax that cannot be erased", { cause: error })
    }
  }

  #refuse(kind: CodeProblem["kind"], file: string, message: string): void {
    this.problem ??= { ...problemAt(file, message), kind }
  }
}

/** The error tells its place at the beginning of its stack alone: the line, and below the text of it, marks under what is wrong. */
function erasureProblem(file: string, text: string, error: unknown): CodeProblem {
  const { message, stack = "" } = error instanceof Error ? error : new Error("Syntax error")
  const line = Number(/^[^\n]*:(\d+)\n/.exec(stack)?.[1] ?? 0)
  const marks = /\n( *)\^+\n/.exec(stack)
  const known = line > 0 && line <= text.split("\n").length
  return {
    ...problemAt(file, `Only types that can be taken off may stand in a .ts file: ${message.slice(0, 300)}`),
    line: known ? line : null,
    column: known && marks !== null ? (marks[1]?.length ?? 0) + 1 : null,
  }
}
