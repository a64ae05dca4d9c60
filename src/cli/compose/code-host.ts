import type { CodeThreads } from "../../adapters/code/code-threads.ts"
import type { CodeHost } from "../../ports/code.ts"

/** The sandbox for code, loaded when it is first needed. */
export function codeHost(callMs: number): { readonly host: () => Promise<CodeHost>; close(): Promise<void> } {
  let opened: Promise<CodeThreads> | null = null
  return {
    host: () => (opened ??= open(callMs)),
    close: async () => (await opened)?.close(),
  }
}

async function open(callMs: number): Promise<CodeThreads> {
  const { CodeThreads } = await import("../../adapters/code/code-threads.ts")
  return new CodeThreads({ callMs })
}
