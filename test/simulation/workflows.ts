import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { Random } from "../support/random.ts"
import { apiEndpoint } from "./simulated-api.ts"
import { digest } from "./simulated-model.ts"

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
    `tool note from mcp.s.tool.note { ${approval(random, 0.25)} ${maxCalls(random)} }`,
    `tool look from mcp.s.tool.look { idempotent: true ${approval(random, 0.08)} ${maxCalls(random)} }`,
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
    const skips = random.chance(0.2) ? " on_failure: skip" : ""
    if (!imports || random.chance(0.5)) return `call tool.${random.pick(tools)} { input { ${text} }${skips} }`
    return random.chance(0.5)
      ? `read resource.page { bindings { ${text} }${skips} }`
      : `render prompt.hint { bindings { ${text} }${skips} }`
  }
  /** One effect for each item, or for each pair of items. */
  const effects = (step: string): string => {
    const when = random.pick(["", ` when one != "i1"`])
    const by = random.pick(["", " by one", " by one descending"])
    if (random.chance(0.7)) return `[${effect(`${step}.{{ one }}`)} for one in input.items${when}${by}]`
    return `[[${effect(`${step}.{{ one }}.{{ two }}`)} for two in input.items] for one in input.items${when}${by}]`
  }

  const dynamics = random.below(3)
  for (let at = 0; at < dynamics; at++) {
    const step = `dynamic.d${at}`
    lines.push(`dynamic { d${at}: ${random.chance(0.35) ? effects(step) : effect(step)} }`)
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
        list && random.chance(0.4) ? `    concurrency: ${1 + random.below(2)}` : "",
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
          loop && random.chance(0.3) ? `    concurrency: ${1 + random.below(3)}` : "",
          random.chance(0.1) ? `    max_steps: ${1 + random.below(3)}` : "",
          random.chance(0.1) ? `    limits { ${limits(random)} }` : "",
          context,
          skips ? `    on_failure: skip` : "",
          local
            ? `    dynamic { l${at}: ${(random.chance(0.3) ? effects : effect)(`agent.${name}${item}/dynamic`)} }`
            : "",
          random.chance(0.08) ? `    file { name: "a.txt"  content: "{{ input.id }}"  media_type: "text/plain" }` : "",
          `    instruction: "{{ input.id }} agent.${name}${item}${before === null ? "" : ` {{ ${reference(before)} }}`}${asked}${dynamic}${local ? ` {{ dynamic.l${at} }}` : ""}${asset}"`,
          contract,
          requirement(name, digest(`${lines.join("\n")} ${name}`)),
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
  const plain = lines.filter((line) => line !== "").join("\n")
  const text = withRun(withRequirement(plain))
  // Decided by the text, so that the other workflows stay as they were.
  const asking = text.replace("mcp s { ", `mcp s { elicitation { expires_seconds: 20 } `)
  return withRefusals([asking, overHttp(text)][digest(text) % 5] ?? text)
}

/** The same tools as requests to an API. */
function overHttp(text: string): string {
  const note = digest(`${text} note`) % 2 === 0 ? "idempotent: true" : ""
  const tag = `input { text: string  tag: string }  send { tag: header "X-Tag" }`
  return text
    .replace("tool note from", `api web { endpoint: "${apiEndpoint}"  timeout_seconds: 10 }\ntool note from`)
    .replace("from mcp.s.tool.note {", `from api.web."POST /note" { ${note} input { text: string }`)
    .replace("from mcp.s.tool.look { idempotent: true", `from api.web."GET /look/{text}" { input { text: string }`)
    .replace("from mcp.s.tool.mark {", `from api.web."POST /mark" { ${tag}`)
}

const fulfilled = `    require result.note == null || length(input.id) > 0`
const refusing = `    require result.go || !(input.items contains "i1") else "{{ input.id }}: go where there is i1"`

/** Some questions have a requirement that each answer fulfils, with what it refers to. Decided by the text, as below. */
function withRequirement(text: string): string {
  const contract = "    output { go: boolean  note: maybe string }"
  return digest(text) % 4 === 0 ? text.replace(contract, `${contract}\n${fulfilled}`) : text
}

/** Those questions also have one that some answers do not fulfil. */
function withRefusals(text: string): string {
  return text.replace(fulfilled, `${fulfilled}\n${refusing}`)
}

/** The questions that have such a requirement. */
export function judgedQuestions(source: string): ReadonlySet<string> {
  const blocks = [...source.matchAll(/^ask (\w+)[^]*?^\}/gm)]
  return new Set(blocks.flatMap(([text, name = ""]) => (text.includes(refusing) ? [name] : [])))
}

/** Whether it refuses an answer, in a run with these items. */
export function isRefusedAnswer(answer: JsonValue, items: readonly string[]): boolean {
  return items.includes("i1") && isJsonObject(answer) && answer["go"] === false
}

/** Some outputs show the run's own values. */
function withRun(text: string): string {
  const ran = '\noutput { ran: "{{ run.id }} {{ run.started_at }} {{ run.date }}"\n'
  return digest(text) % 4 === 1 ? text.replace("\noutput { ", ran) : text
}

const matches = [`ok { true: "yes"  false: "no"`, `mood { good: "yes"  bad: "no"`]

function block(head: string, lines: readonly string[]): string {
  return [`${head} {`, ...lines.filter((line) => line !== ""), `}`].join("\n")
}

/** Most are fulfilled by the second output. Decided by the text, so that workflows without any stay as they were. */
function requirement(agent: string, decides: number): string {
  if (decides % 6 !== 0) return ""
  if (decides % 5 === 0) return `    require result.n > 6`
  return `    require result.n != ${decides % 7} else "{{ input.id }} agent.${agent} needs another n than {{ result.n }}"`
}

function approval(random: Random, often: number): string {
  if (!random.chance(often)) return ""
  return `approval { ${random.chance(0.2) ? `to: "editors"  ` : ""}expires_seconds: ${1 + random.below(60)} }`
}

function maxCalls(random: Random): string {
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
