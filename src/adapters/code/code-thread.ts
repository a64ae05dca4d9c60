import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parentPort, workerData } from "node:worker_threads"
import type { CheckedCode, CodeAnswer, CodeCall, CodeFiles } from "../../ports/code.ts"
import { Sandbox, type SandboxLimits } from "./sandbox.ts"

// The entry point of the threads that run code files. A thread has one session at a time, each in a sandbox of its own.

export interface CodeThreadData {
  readonly limits: SandboxLimits
}

export type ToCodeThread =
  | { readonly kind: "open"; readonly nowMs: number }
  | { readonly kind: "call"; readonly call: CodeCall }
  | { readonly kind: "check"; readonly code: CodeFiles }
  | { readonly kind: "close" }

export type FromCodeThread =
  | { readonly answer: CodeAnswer }
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
    case "call":
      if (sandbox === null) throw new Error("A call came before its session")
      return { answer: await sandbox.call(message.call) }
    case "check":
      return { checked: await (await Sandbox.open(wasm, 0, limits)).check(message.code) }
  }
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
