import type { JsonObject } from "../src/base/json-value.ts"
import { readSettings } from "../src/cli/compose/settings.ts"
import { compose } from "../src/cli/compose/compose.ts"
import type { Usage } from "../src/log/events.ts"

// The bill of a loop of 200 items over a guide of 8 KB, with prompt caches and without, on the demo model, which keeps caches as the vendors do: by today's prices of
// two of them. `npm run bench -- cost [ITEMS]`.

const items = Number(process.argv[2] ?? 200)
const guide = "Billing answers questions about money, invoices and refunds; product answers all others. ".repeat(92)
const tickets = Array.from(
  { length: items },
  (_, at) => `Ticket ${at}: my invoice of month ${at % 12} is wrong, what shall I do?`,
)

/** US dollars for a million tokens, in November 2026. */
const vendors = [
  { kind: "anthropic", model: "Claude Haiku 4.5", price: "input: 1  cached: 0.1  output: 5" },
  { kind: "openai", model: "GPT-4.1 mini", price: "input: 0.4  cached: 0.1  output: 1.6" },
]

const sourceOf = ({ kind, price }: (typeof vendors)[number], { prompt, more }: (typeof ways)[number]): string => `
input { guide: string  tickets: [string] }
provider p from ${kind} { endpoint: "demo" }
model m from p { id: "demo"  price { ${price}  batch: 0.5 } }
agent label for ticket in input.tickets {
  model: model.m
  instruction: "${prompt}"
  ${more}
  output { team: enum { billing, product } }
}
output { labels: agent.label }
`

const ways = [
  { name: "the ticket first", prompt: "{{ ticket }} {{ input.guide }}", more: "" },
  { name: "the guide first: cached", prompt: "{{ input.guide }} {{ ticket }}", more: "" },
  { name: "the guide first, in a batch", prompt: "{{ input.guide }} {{ ticket }}", more: "batch { within_hours: 24 }" },
]

const environment = {
  WIRE_PORT: "0",
  WIRE_STORE: "memory",
  WIRE_LOG_LEVEL: "silent",
  WIRE_RATE_LIMIT: "0",
  WIRE_DEMO_BATCH_SECONDS: "1",
}
const { settings, wrong } = readSettings(environment, {})
if (settings === null) throw new Error(wrong.join(" "))
const service = await compose(settings)
const url = await service.listen()

async function usageOf(source: string, id: number): Promise<Usage> {
  // The first characters are its own, so that no run reads what another has written.
  const input: JsonObject = { guide: `Guide ${id}. ${guide}`, tickets }
  const response = await fetch(`${url}/execute`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ workflow_source: source, input }),
  })
  const run_id = response.headers.get("x-service-run-id") ?? ""
  // A run with a batch waits for it.
  for (let text = await response.text(); ;) {
    if (!response.ok) throw new Error(text)
    const record = await fetch(`${url}/execute/${run_id}?wait=30`)
    const { status, usage } = JSON.parse((text = await record.text())) as { status: string; usage: Usage }
    if (status === "completed") return usage
    if (status === "failed") throw new Error(text)
  }
}

const count = (tokens: number): string => tokens.toLocaleString("en-US")

console.log(`${items} items, a guide of ${count(Buffer.byteLength(guide))} bytes\n`)
console.log("| model | prompt | plain input | read from the cache | written to it | output | cost | saved |")
console.log("|---|---|--:|--:|--:|--:|--:|--:|")
let id = 0
for (const vendor of vendors) {
  let without = 0
  for (const way of ways) {
    const { input_tokens, cached_tokens, written_tokens, output_tokens, cost } = await usageOf(
      sourceOf(vendor, way),
      id++,
    )
    const paid = cost ?? 0
    if (without === 0) without = paid
    const plain = input_tokens - cached_tokens - written_tokens
    const numbers = [plain, cached_tokens, written_tokens, output_tokens].map(count).join(" | ")
    console.log(
      `| ${vendor.model} | ${way.name} | ${numbers} | $${paid.toFixed(3)} | ${Math.round(100 * (1 - paid / without))} % |`,
    )
  }
}
await service.stop(0, "the benchmark has ended")
