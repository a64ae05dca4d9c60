import type { Random } from "../support/random.ts"

/** What an agent gives: simulated models answer this. */
const contract = `    output { text: string  n: integer  ok: boolean  mood: enum { good, bad } }`

interface Step {
  readonly name: string
  readonly list: boolean
  readonly maybe: boolean
}

/**
 * A workflow of a few steps with whatever the language has, in text. Every instruction, and every argument of a call, begins with the run's label
 * and the step.
 */
export function randomWorkflow(random: Random): string {
  const secret = random.chance(0.2)
  const imports = random.chance(0.3)
  const lines = [
    `input { id: string  items: [string] }`,
    `provider p from openai { endpoint: "http://models.test/v1" }`,
    `model m from p { id: "m"  price { input: 1  output: 2 }  assets: ["image"] }`,
    `model spare from p { id: "spare"  price { input: 3  output: 4 }  assets: ["image"] }`,
    secret
      ? `secrets { token: string }\nmcp s { endpoint: "http://tools.test/mcp"  headers { Authorization: "Bearer {{ secrets.token }}" } }`
      : `mcp s { endpoint: "http://tools.test/mcp" }`,
    `tool note from mcp.s.tool.note { ${approval(random, 0.25)} ${mostCalls(random)} }`,
    `tool look from mcp.s.tool.look { idempotent: true ${approval(random, 0.08)} ${mostCalls(random)} }`,
    secret ? `tool mark from mcp.s.tool.mark { bindings { tag: secrets.token } ${approval(random, 0.25)} }` : "",
    imports ? `resource page from mcp.s.resource.page` : "",
    imports ? `prompt hint from mcp.s.prompt.hint` : "",
    random.chance(0.1) ? `limits { ${limits(random)} }` : "",
  ]
  const tools = ["note", "look", ...(secret ? ["mark"] : [])]
  const fields: string[] = []
  const steps: Step[] = []
  const effect = (step: string): string => {
    const text = `text: "{{ input.id }} ${step} 0"`
    if (!imports || random.chance(0.5)) return `call tool.${random.pick(tools)} { input { ${text} } }`
    return random.chance(0.5)
      ? `read resource.page { bindings { ${text} } }`
      : `render prompt.hint { bindings { ${text} } }`
  }

  const dynamics = random.below(3)
  for (let at = 0; at < dynamics; at++) {
    lines.push(`dynamic { d${at}: ${effect(`dynamic.d${at}`)} }`)
    fields.push(`d${at}: dynamic.d${at}`)
  }

  const questions: Step[] = []
  const asks = random.chance(0.3) ? 1 + random.below(2) : 0
  for (let at = 0; at < asks; at++) {
    const list = random.chance(0.3)
    const maybe = random.chance(0.2)
    lines.push(
      block(`ask q${at}${list ? " for item in input.items" : ""}${maybe ? ` when input.items contains "i0"` : ""}`, [
        `    question: "{{ input.id }} ask.q${at}${list ? ".{{ item }}" : ""}"`,
        `    expires_seconds: ${1 + random.below(60)}`,
        random.chance(0.7) ? `    on_expiry: { go: false, note: "expired" }` : "",
        random.chance(0.3) ? `    show: { items: input.items }` : "",
        random.chance(0.3) ? `    to: "editors"` : "",
        `    output { go: boolean  note: maybe string }`,
      ]),
    )
    questions.push({ name: `q${at}`, list, maybe })
    fields.push(`q${at}: ask.q${at}`)
  }

  const count = 1 + random.below(5)
  for (let at = 0; at < count; at++) {
    const name = `a${at}`
    const before = steps.length === 0 || random.chance(0.3) ? null : random.pick(steps)
    const loop = random.chance(0.3)
    const of = before?.list === true && random.chance(0.3) ? reference(before) : "input.items"
    const item = loop ? ".{{ item }}" : ""
    const conditions: string[] = []
    if (random.chance(0.2)) conditions.push(`input.items contains "i${random.below(3)}"`)
    if (loop && random.chance(0.3)) conditions.push(`item != "i1"`)
    const decides = random.chance(0.25) ? random.pick([...questions, ...steps, null]) : null
    if (decides !== null && !decides.list) conditions.push(condition(random, decides))
    let context = ""
    if (before !== null && !before.list && random.chance(0.4) && (!before.maybe || random.chance(0.6))) {
      // What may be null can be continued only where it is not.
      if (before.maybe) conditions.unshift(`agent.${before.name} != null`)
      context = random.chance(0.3)
        ? `    context: compact agent.${before.name} { model: model.m }`
        : `    context: agent.${before.name}`
    }
    const skips = random.chance(0.25)
    const local = random.chance(0.12)
    const model = random.chance(0.15) ? `model.m { inference { max_tokens: ${20 + random.below(200)} } }` : "model.m"
    const asked = asks > 0 && random.chance(0.4) ? ` {{ ask.q${random.below(asks)} }}` : ""
    const dynamic = dynamics > 0 && random.chance(0.3) ? ` {{ dynamic.d${random.below(dynamics)} }}` : ""
    const asset = random.chance(0.08)
      ? ` {{ asset "http://pictures.test/p.png" { type: "image", media_type: "image/png" } }}`
      : ""
    lines.push(
      block(
        `agent ${name}${loop ? ` for item in ${of}` : ""}${conditions.length > 0 ? ` when ${conditions.join(" && ")}` : ""}`,
        [
          `    model: ${random.chance(0.3) ? `[${model}, model.spare]` : model}`,
          random.chance(0.5) ? `    uses: [${uses(random, tools, imports, `agent.${name}`)}]` : "",
          random.chance(0.1) ? `    max_steps: ${1 + random.below(3)}` : "",
          random.chance(0.1) ? `    limits { ${limits(random)} }` : "",
          context,
          skips ? `    on_failure: skip` : "",
          local ? `    dynamic { l${at}: ${effect(`agent.${name}${item}/dynamic`)} }` : "",
          random.chance(0.08) ? `    file { name: "a.txt"  content: "{{ input.id }}"  media_type: "text/plain" }` : "",
          `    instruction: "{{ input.id }} agent.${name}${item}${before === null ? "" : ` {{ ${reference(before)} }}`}${asked}${dynamic}${local ? ` {{ dynamic.l${at} }}` : ""}${asset}"`,
          contract,
        ],
      ),
    )
    const step = { name, list: loop, maybe: skips || conditions.length > 0 }
    steps.push(step)
    fields.push(`${name}: ${reference(step)}`)
    if (!loop && random.chance(0.2)) {
      fields.push(`m${at}: match agent.${name}${step.maybe ? "?" : ""}.${random.pick(matches)}`)
      if (step.maybe) fields.push(`    _ "none" }`)
      else fields.push(`}`)
    }
    // Only the branch that is chosen calls anybody.
    if (!loop && !step.maybe && random.chance(0.1)) {
      const branch = (which: string): string =>
        `call tool.${random.pick(tools)} { input { text: "{{ input.id }} dynamic.b${at} ${which}" } }`
      lines.push(`dynamic { b${at}: match agent.${name}.ok { true: ${branch("yes")}  false: ${branch("no")} } }`)
      fields.push(`b${at}: dynamic.b${at}`)
    }
  }
  lines.push(`output { ${fields.join("\n")} }`)
  return lines.filter((line) => line !== "").join("\n")
}

const matches = [`ok { true: "yes"  false: "no"`, `mood { good: "yes"  bad: "no"`]

function block(head: string, lines: readonly string[]): string {
  return [`${head} {`, ...lines.filter((line) => line !== ""), `}`].join("\n")
}

function approval(random: Random, often: number): string {
  if (!random.chance(often)) return ""
  return `approval { ${random.chance(0.2) ? `to: "editors"  ` : ""}expires_seconds: ${1 + random.below(60)} }`
}

function mostCalls(random: Random): string {
  return random.chance(0.12) ? `max_calls: ${1 + random.below(3)}` : ""
}

function limits(random: Random): string {
  return random.pick([
    `model_calls: ${1 + random.below(8)}`,
    `tool_calls: ${1 + random.below(5)}`,
    `tokens: ${500 + random.below(10_000)}`,
    `cost: ${(0.0005 + random.next() * 0.01).toFixed(6)}`,
    `time_seconds: ${1 + random.below(60)}`,
  ])
}

function uses(random: Random, tools: readonly string[], imports: boolean, step: string): string {
  const listed = tools.filter(() => random.chance(0.6)).map((tool) => `tool.${tool}`)
  if (listed.length === 0) listed.push("tool.look")
  if (random.chance(0.15)) listed[0] += ` { max_calls: ${1 + random.below(2)} }`
  if (imports && random.chance(0.4)) listed.push("resource.page")
  if (imports && random.chance(0.4)) listed.push(`prompt.hint { bindings { text: "{{ input.id }} ${step} prompt" } }`)
  return listed.join(", ")
}

function condition(random: Random, { name, maybe }: Step): string {
  if (name.startsWith("q")) return maybe ? `(ask.${name}?.go ?? false)` : `ask.${name}.go`
  if (maybe) return `(agent.${name}?.n ?? 0) > ${random.below(5)}`
  return random.pick([`agent.${name}.ok`, `agent.${name}.n > ${random.below(5)}`, `agent.${name}.mood == "good"`])
}

function reference({ name, list, maybe }: Step): string {
  if (list) return maybe ? `agent.${name}.**.text` : `agent.${name}.*.text`
  return maybe ? `agent.${name}?.text` : `agent.${name}.text`
}
