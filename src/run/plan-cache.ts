import { runPlanCharacters, runPlans } from "../base/limits.ts"
import { canonicalJson } from "../base/canonical-json.ts"
import { isCodePath } from "../source/code-files.ts"
import type { SourceText } from "../source/source-files.ts"

/** `workflow`: set for a source of the server's folder. */
interface SourceToKeep extends SourceText {
  readonly workflow?: { readonly name: string } | undefined
}

/**
 * Compiles each source once and keeps what came of it, the least recently used going first: a service runs the same few
 * workflows all day. Bounded by the number of entries and by the characters of their sources: a plan takes up to 20 bytes for
 * each of them.
 */
export class PlanCache<T extends object> {
  readonly #compile: (source: SourceToKeep, share: string) => Promise<T>
  readonly #most: number
  readonly #maxCharacters: number
  /** By source, with its files; the most recently used last. */
  readonly #entries = new Map<string, T>()
  /**
   * Those that are being compiled, by caller and source. A caller does not wait for another one's place in the compiler's queue:
   * it has its own, which may come sooner.
   */
  readonly #pending = new Map<string, Map<string, Promise<T>>>()
  #characters = 0

  constructor(
    compile: (source: SourceToKeep, share: string) => Promise<T>,
    most: number = runPlans,
    maxCharacters: number = runPlanCharacters,
  ) {
    this.#compile = compile
    this.#most = most
    this.#maxCharacters = maxCharacters
  }

  async get(text: SourceToKeep, share: string): Promise<T> {
    const source = keyOf(text)
    const known = this.#entries.get(source)
    if (known !== undefined) {
      this.#entries.delete(source)
      this.#entries.set(source, known)
      return known
    }
    const own = this.#pending.get(share) ?? new Map<string, Promise<T>>()
    this.#pending.set(share, own)
    let pending = own.get(source)
    if (pending === undefined) {
      pending = this.#compileAndKeep(source, text, share).finally(() => {
        own.delete(source)
        if (own.size === 0) this.#pending.delete(share)
      })
      own.set(source, pending)
    }
    return pending
  }

  async #compileAndKeep(source: string, text: SourceToKeep, share: string): Promise<T> {
    const value = await this.#compile(text, share)
    // Another caller's turn may have come first.
    const known = this.#entries.get(source)
    if (known !== undefined) return known
    this.#entries.set(source, value)
    this.#characters += source.length
    for (const [oldest] of this.#entries) {
      if (this.#entries.size <= this.#most && this.#characters <= this.#maxCharacters) break
      this.#entries.delete(oldest)
      this.#characters -= oldest.length
    }
    return value
  }
}

/** A source alone, or with all of its files: no source contains NUL. */
function keyOf({ source, file, modules, workflow }: SourceToKeep): string {
  if (file === undefined && modules === undefined) return source
  // The files of the server may have code that a caller may not send.
  const served = workflow !== undefined && Object.keys(modules ?? {}).some(isCodePath)
  return `${source}\0${canonicalJson({ file: file ?? null, modules: { ...modules }, served })}`
}
