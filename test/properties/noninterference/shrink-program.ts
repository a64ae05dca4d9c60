import { compile } from "../../../src/compile.ts"
import type { Accepted } from "./accepted-program.ts"
import { compareRuns } from "./compare-runs.ts"
import type { Settled } from "./program.ts"

// A program that shows a difference, cut down: whoever has to read it sees what matters.

/** Properties that the world knows about, and cannot be left out without telling it. */
const kept = /^\s*(?:requires|approval|cleared|gives|output|input)\b/

/** The same facts with other sources. */
class Cut implements Pick<Settled, "program" | "text" | "source" | "modules"> {
  readonly program: Settled["program"]
  readonly source: string
  readonly modules: Record<string, string>
  readonly #settled: Settled

  constructor(settled: Settled, source: string, modules: Record<string, string>) {
    this.#settled = settled
    this.program = settled.program
    this.source = source
    this.modules = modules
  }

  text(...given: Parameters<Settled["text"]>): string {
    return this.#settled.text(...given)
  }
}

export async function shrinkProgram(accepted: Accepted, seed: number, rule: string, most = 1500): Promise<Accepted> {
  let best = accepted
  let left = most
  const tries = async (source: string, modules: Record<string, string>): Promise<boolean> => {
    if (left-- <= 0) return false
    const compiled = compile(source, { modules })
    if (compiled.plan === undefined) return false
    const cut: Accepted = {
      settled: new Cut(accepted.settled, source, modules) as unknown as Settled,
      compiled,
    }
    try {
      const { differences } = await compareRuns(cut, seed)
      if (!differences.some((one) => one.rule === rule)) return false
    } catch {
      return false
    }
    best = cut
    return true
  }
  for (let before = -1; before !== sizeOf(best);) {
    before = sizeOf(best)
    for (const file of ["main.wire", ...Object.keys(best.settled.modules)]) {
      for (const shorter of [dropped, simplified]) {
        for (let at = 0; ;) {
          const text = file === "main.wire" ? best.settled.source : (best.settled.modules[file] ?? "")
          const next = shorter(text, at)
          if (next === undefined) break
          const { source, modules } = best.settled
          const isShorter =
            file === "main.wire"
              ? await tries(next.text, modules)
              : await tries(source, { ...modules, [file]: next.text })
          if (!isShorter) at = next.after
        }
      }
    }
  }
  return best
}

function sizeOf({ settled }: Accepted): number {
  return settled.source.length + Object.values(settled.modules).join("").length
}

/** The text without the line, or the declaration, that begins at or after a place. */
function dropped(text: string, at: number): { readonly text: string; readonly after: number } | undefined {
  const blocks = text.split("\n\n")
  let offset = 0
  for (const block of blocks) {
    const start = offset
    offset += block.length + 2
    if (start >= at && !/^input\b/.test(block))
      return { text: text.slice(0, start) + text.slice(offset), after: offset }
    const lines = block.split("\n")
    let place = start
    for (const line of lines) {
      const end = place + line.length + 1
      if (place > start && place >= at && /^\s{4}\S/.test(line) && !kept.test(line) && !line.trimEnd().endsWith("}")) {
        return { text: text.slice(0, place) + text.slice(end), after: end }
      }
      place = end
    }
  }
  return undefined
}

/** A part of an expression in place of the whole: the text between a pair of brackets, or a literal. */
function simplified(text: string, at: number): { readonly text: string; readonly after: number } | undefined {
  const pattern = /\w+\([^()]*\)|\{\{ [^{}]* \}\}|\([^()]*\)|match [^{}]* \{[^{}]*\}|\[[^[\]]*\]| \?\? [^ )]*/g
  pattern.lastIndex = at
  const found = pattern.exec(text)
  if (found === null) return undefined
  const [whole] = found
  const shorter = whole.startsWith("{{") || whole.startsWith(" ??") ? "" : whole.startsWith("[") ? "[]" : '"x"'
  return {
    text: text.slice(0, found.index) + shorter + text.slice(found.index + whole.length),
    after: found.index + 1,
  }
}
