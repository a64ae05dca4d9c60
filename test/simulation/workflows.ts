import type { Random } from "../support/random.ts"

/** A workflow of a few steps with whatever the language has, in text. Every instruction begins with the run's label and the step. */
export function randomWorkflow(random: Random): string {
  const lines = [
    `input { id: string  items: [string] }`,
    `provider p from openai { endpoint: "http://models.test/v1" }`,
    `model m from p { id: "m"  price { input: 1  output: 2 } }`,
    `model spare from p { id: "spare"  price { input: 3  output: 4 } }`,
    `mcp s { endpoint: "http://tools.test/mcp" }`,
    `tool note from mcp.s.tool.note${random.chance(0.25) ? ` { approval { expires_seconds: ${1 + random.below(60)} } }` : ""}`,
    `tool look from mcp.s.tool.look { idempotent: true }`,
  ]
  const fields: string[] = []
  const steps: { readonly name: string; readonly list: boolean; readonly maybe: boolean }[] = []
  const dynamics = random.below(3)
  for (let at = 0; at < dynamics; at++) {
    const tool = random.pick(["note", "look"])
    lines.push(`dynamic { d${at}: call tool.${tool} { input { text: "{{ input.id }} dynamic.d${at} 0" } } }`)
    fields.push(`d${at}: dynamic.d${at}`)
  }
  const questions = random.chance(0.3) ? 1 + random.below(2) : 0
  for (let at = 0; at < questions; at++) {
    const loop = random.chance(0.3) ? " for item in input.items" : ""
    lines.push(
      [
        `ask q${at}${loop}${random.chance(0.2) ? ` when input.items contains "i0"` : ""} {`,
        `    question: "{{ input.id }} ask.q${at}${loop === "" ? "" : ".{{ item }}"}"`,
        `    expires_seconds: ${1 + random.below(60)}`,
        random.chance(0.7) ? `    on_expiry: { go: false, note: "expired" }` : "",
        `    output { go: boolean  note: maybe string }`,
        `}`,
      ]
        .filter((line) => line !== "")
        .join("\n"),
    )
    fields.push(`q${at}: ask.q${at}`)
  }
  const count = 1 + random.below(5)
  for (let at = 0; at < count; at++) {
    const name = `a${at}`
    const before = steps.length === 0 || random.chance(0.3) ? null : random.pick(steps)
    const loop = random.chance(0.3)
    const conditions: string[] = []
    if (random.chance(0.2)) conditions.push(`input.items contains "i${random.below(3)}"`)
    if (loop && random.chance(0.3)) conditions.push(`item != "i1"`)
    const skips = random.chance(0.25)
    let context = ""
    if (before !== null && !before.list && !before.maybe && random.chance(0.4)) {
      context = random.chance(0.3)
        ? `    context: compact agent.${before.name} { model: model.m }`
        : `    context: agent.${before.name}`
    }
    const uses = random.chance(0.5)
      ? `    uses: [${random.pick(["tool.note", "tool.look", "tool.note, tool.look"])}]`
      : ""
    const refers = before === null ? "" : ` {{ ${reference(before)} }}`
    const asked = questions > 0 && random.chance(0.4) ? ` {{ ask.q${random.below(questions)} }}` : ""
    const dynamic = dynamics > 0 && random.chance(0.3) ? ` {{ dynamic.d${random.below(dynamics)} }}` : ""
    const item = loop ? ".{{ item }}" : ""
    lines.push(
      [
        `agent ${name}${loop ? " for item in input.items" : ""}${conditions.length > 0 ? ` when ${conditions.join(" && ")}` : ""} {`,
        `    model: ${random.chance(0.3) ? "[model.m, model.spare]" : "model.m"}`,
        uses,
        context,
        skips ? `    on_failure: skip` : "",
        `    instruction: "{{ input.id }} agent.${name}${item}${refers}${asked}${dynamic}"`,
        `    output { text: string  n: integer  ok: boolean }`,
        `}`,
      ]
        .filter((line) => line !== "")
        .join("\n"),
    )
    const step = { name, list: loop, maybe: skips || conditions.length > 0 }
    steps.push(step)
    fields.push(`${name}: ${reference(step)}`)
  }
  lines.push(`output { ${fields.join("\n")} }`)
  return lines.join("\n")
}

function reference({
  name,
  list,
  maybe,
}: {
  readonly name: string
  readonly list: boolean
  readonly maybe: boolean
}): string {
  if (list) return maybe ? `agent.${name}.**.text` : `agent.${name}.*.text`
  return maybe ? `agent.${name}?.text` : `agent.${name}.text`
}
