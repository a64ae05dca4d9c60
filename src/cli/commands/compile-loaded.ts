import { codeCallMs } from "../../base/limits.ts"
import { compileFileAndCode, type CompiledFile } from "../../compiler/folder-texts.ts"
import type { CodeHost } from "../../ports/code.ts"
import type { CheckedCode, CodeFiles } from "../../source/code-files.ts"

let host: Promise<CodeHost> | null = null

/** Compiles a file with the files around it, and loads its code in the sandbox. */
export function compileLoaded(file: string, source: string, root?: string): Promise<CompiledFile> {
  return compileFileAndCode(file, source, () => (host ??= open()), root)
}

export async function loadCode(code: CodeFiles): Promise<CheckedCode> {
  return (await (host ??= open())).check(code, "")
}

async function open(): Promise<CodeHost> {
  const { codeHost } = await import("../compose/code-host.ts")
  return codeHost(codeCallMs).host()
}
