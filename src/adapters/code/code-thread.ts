import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parentPort, workerData } from "node:worker_threads"
import type { CodeAnswer, CodeCall } from "../../ports/code.ts"
import type { CheckedCode, CodeFiles } from "../../source/code-files.ts"
import { Sandbox, type SandboxLimits } from "./sandbox.ts"

// The entry point of the threads that run code files. A thread has one session at a time, each in a sandbox of its own.

export interface CodeThreadData {
  readonly limits: SandboxLimits
}

export type ToCodeThread =
  | { readonly kind: "open"; readonly nowMs: number }
  | { readonly kind: "calls"; readonly calls: readonly CodeCall[] }
  | { readonly kind: "check"; readonly code: CodeFiles }
  | { readonly kind: "close" }

export type FromCodeThread =
  | { readonly answers: readonly CodeAnswer[] }
  | { readonly checked: CheckedCode }
  | { readonly bug: string }

const port = parentPort
if (port === null) throw new Error("This is a worker thread's entry point")

const { limits } = workerData as CodeThreadData
/** The types of Node know its name alone. */
const { Module } = Reflect.get(globalThis, "WebAssembly") as { Module: new (bytes: Uint8Array) => WebAssembly.Module }
const wasm = new Module(readFileSync(wasmFile()))
let sandbox: Sandbox | null = null

async function answer(message: ToCodeThread): Promise<FromCodeThread | null> {
  switch (message.kind) {
    case "open":
      sandbox = await Sandbox.open(wasm, message.nowMs, limits)
      return null
    case "close":
      // The instance is garbage: nothing of it is used again.
      sandbox = null
      return null
    case "calls":
      if (sandbox === null) throw new Error("A call came before its session")
      return { answers: await answersOf(sandbox, message.calls) }
    case "check":
      return { checked: await (await Sandbox.open(wasm, 0, limits)).check(message.code) }
  }
}

/** The CPU that a call takes is not there for the next. */
async function answersOf(sandbox: Sandbox, calls: readonly CodeCall[]): Promise<CodeAnswer[]> {
  const answers: CodeAnswer[] = []
  let spentMs = 0
  for (const call of calls) {
    const found = await sandbox.call({ ...call, leftMs: call.leftMs - spentMs })
    answers.push(found)
    if (found.kind !== "value") break
    spentMs += found.cpuMs
  }
  return answers
}

let last: Promise<unknown> = Promise.resolve()

port.on("message", (message: ToCodeThread) => {
  last = last
    .then(() => answer(message))
    .catch((error: unknown): FromCodeThread => ({ bug: String(error instanceof Error ? error.stack : error) }))
    .then((found) => {
      if (found !== null) port.postMessage(found)
    })
})

/** In its package for the sources, beside the bundle that this file has become a part of. */
function wasmFile(): URL | string {
  if (!import.meta.url.endsWith(".ts")) return new URL("./quickjs.wasm", import.meta.url)
  return fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm"))
}
