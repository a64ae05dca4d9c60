import { compile } from "../src/compile.ts"
import type { Program } from "../src/check/program.ts"
import { codeActions } from "../src/editor/code-actions.ts"
import { complete } from "../src/editor/complete.ts"
import { definition } from "../src/editor/definition.ts"
import { folding } from "../src/editor/folding.ts"
import { hover } from "../src/editor/hover.ts"
import { references } from "../src/editor/references.ts"
import { rename } from "../src/editor/rename.ts"
import { semanticTokens } from "../src/editor/semantic-tokens.ts"
import { symbols } from "../src/editor/symbols.ts"
import { workflowOf } from "./language-sources.ts"

// What a key stroke costs: the text is compiled anew, then the editor asks for completions, a hover and the colours. The
// floor is the compile alone. Half-written source, as it is while someone types: `agent.` in the middle of the file.

const rounds = 25

/** Milliseconds of CPU, the least of several rounds: others who use the machine can only add to it. */
function measure(times: number, work: () => unknown): number {
  let best = Infinity
  for (let round = 0; round < rounds; round++) {
    const cpu = process.cpuUsage()
    for (let time = 0; time < times; time++) work()
    const { user, system } = process.cpuUsage(cpu)
    best = Math.min(best, (user + system) / 1_000 / times)
  }
  return best
}

function row(name: string, ms: number, floor: number): string {
  return `  ${name.padEnd(34)}${ms.toFixed(3).padStart(9)} ms${(ms / floor).toFixed(2).padStart(8)}`
}

for (const lines of [500, 5_000]) {
  const times = lines === 500 ? 20 : 3
  const whole = workflowOf(lines)
  const at = whole.indexOf("{{ input.title }}", whole.length / 2) + 3
  const text = `${whole.slice(0, at)}agent. ${whole.slice(at)}`
  const offset = at + "agent.".length
  const { program, diagnostics } = compile(text)
  const name = whole.lastIndexOf("agent.summary_1.summary") + "agent.".length
  const valid = compile(whole).program
  if (complete(program, offset) === undefined || hover(valid, name) === undefined) throw new Error("nothing to measure")

  const floor = measure(times, () => compile(text))
  const stroke = measure(times, () => {
    const fresh = compile(text).program
    return [complete(fresh, offset), hover(fresh, name), semanticTokens(fresh)]
  })
  const parts: [string, (program: Program) => unknown][] = [
    ["completion", () => complete(program, offset)],
    ["hover", () => hover(valid, name)],
    ["semantic tokens", () => semanticTokens(program)],
    ["definition", () => definition(valid, name)],
    ["folding", () => folding(program)],
    ["outline", () => symbols(program)],
    ["code actions", () => codeActions(program, diagnostics, { start: offset, end: offset })],
    ["references", () => references(valid, name)],
    ["rename (of an agent)", () => rename(valid, name, "renamed")],
  ]
  console.log(`\n${lines} lines, ${Math.round(text.length / 1024)} kB                       CPU   to compile`)
  console.log(row("compile alone", floor, floor))
  console.log(row("key stroke: compile + complete", stroke, floor) + "   (with hover and tokens)")
  for (const [title, work] of parts)
    console.log(
      row(
        title,
        measure(times, () => work(program)),
        floor,
      ),
    )
}
