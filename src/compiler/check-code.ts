import { hash } from "node:crypto"
import { codeCheckedFiles } from "../base/limits.ts"
import { canonicalJson } from "../base/canonical-json.ts"
import type { CodeHost } from "../ports/code.ts"
import type { CheckedCode, CodeFiles } from "../source/code-files.ts"

/** What was found of code files, the oldest first: the same workflows are compiled again and again. */
const known = new Map<string, Promise<CheckedCode>>()

/** Loads each of the code files in the sandbox. By the paths of the files. */
export async function checkAll(
  files: readonly CodeFiles[],
  host: CodeHost,
  share: string,
): Promise<Record<string, CheckedCode>> {
  const checked = await Promise.all(files.map((one) => checkOne(one, host, share)))
  return Object.fromEntries(files.map(({ entry }, at) => [entry, checked[at] as CheckedCode]))
}

async function checkOne(files: CodeFiles, host: CodeHost, share: string): Promise<CheckedCode> {
  const key = hash("sha256", canonicalJson(files))
  const before = known.get(key)
  if (before !== undefined) return before
  const found = host.check(files, share)
  known.set(key, found)
  for (const [oldest] of known) {
    if (known.size <= codeCheckedFiles) break
    known.delete(oldest)
  }
  const checked = await found.catch((error: unknown) => {
    known.delete(key)
    throw error
  })
  // One that took too long may have met a busy machine.
  if ("problem" in checked) known.delete(key)
  return checked
}
