import { compile, type Compiled } from "../../../src/compile.ts"
import type { Diagnostic } from "../../../src/source/diagnostic.ts"
import type { Random } from "../../support/random.ts"
import { Settled, type Program, type Toggle } from "./program.ts"

// The strictest program that the checker accepts: everything is required and nothing cleared, until the checker agrees. So its
// claims are as strong as they can be, and a claim that does not hold is found by running it.

export interface Accepted {
  readonly settled: Settled
  readonly compiled: Compiled
}

const families: Readonly<Record<string, readonly Toggle["what"][]>> = {
  "untrusted-action": ["requires", "approval", "address", "header"],
  "private-leak": ["cleared", "group", "address", "header"],
  "secret-exposed": ["address"],
  "unknown-property": ["requires"],
}

/** Undefined where the checker finds something else than labels, or accepts nothing of it. */
export function acceptedProgram(program: Program, random: Random): Accepted | "refused" | "broken" {
  const levels = new Map(program.toggles.map(({ id }) => [id, 0]))
  // Some programs ask for less from the beginning: what is never required is not proven either, but leaves more to others.
  for (const { id, what, levels: all } of program.toggles) {
    if (random.chance(what === "cleared" ? 0.25 : 0.1)) levels.set(id, random.below(all.length))
  }
  for (let round = 0; round < 40; round++) {
    const settled = new Settled(program, levels)
    const { source, modules } = settled
    const compiled = compile(source, { modules })
    const found = errorsOf(compiled)
    if (found.length === 0 && compiled.plan !== undefined) return { settled, compiled }
    const all = found.flatMap((one) => (one.code === "invalid-import" ? inFiles(modules) : [one]))
    if (all.some(({ code }) => families[code] === undefined)) return "broken"
    if (!relax(program, levels, all, random, round)) return "refused"
  }
  return "refused"
}

function errorsOf({ diagnostics }: Compiled): Diagnostic[] {
  return diagnostics.filter(({ severity }) => severity === "error")
}

/** Errors of called files, whoever calls them. */
function inFiles(modules: Record<string, string>): Diagnostic[] {
  return Object.entries(modules).flatMap(([file, text]) => {
    const others = Object.fromEntries(Object.entries(modules).filter(([path]) => path !== file))
    return errorsOf(compile(text, { file, modules: others })).filter(({ code }) => code !== "invalid-import")
  })
}

/** Asks for less where the checker refuses: at what a message names, else anywhere. */
function relax(
  program: Program,
  levels: Map<string, number>,
  found: readonly Diagnostic[],
  random: Random,
  round: number,
): boolean {
  let isRelaxed = false
  for (const { code, path, message, hint = "" } of found) {
    const names = new Set(`${path} ${message} ${hint}`.match(/[a-z]\d+\b/g))
    const open = program.toggles.filter(({ id, what, levels: all }) => {
      return families[code]?.includes(what) === true && (levels.get(id) ?? 0) < all.length - 1
    })
    const meant = open.filter(({ about }) => names.has(about))
    const choices = meant.length > 0 ? meant : round > 2 ? open : []
    if (choices.length === 0) continue
    // An approval takes a tool out of what is compared, as much as asking for nothing does.
    const others = choices.filter(({ what }) => what !== "approval")
    const { id } = random.pick(others.length > 0 && random.chance(0.8) ? others : choices)
    levels.set(id, (levels.get(id) ?? 0) + 1)
    isRelaxed = true
  }
  if (isRelaxed) return true
  const open = program.toggles.filter(({ id, levels: all }) => (levels.get(id) ?? 0) < all.length - 1)
  for (const { id } of open) levels.set(id, (levels.get(id) ?? 0) + 1)
  return open.length > 0
}
