// The two jobs that every server of the benchmark does, and what a client sends for them.

export type JobName = "one" | "fan"

/** Calls that wait for each other, in groups of calls that do not. */
export const callGroups: Readonly<Record<JobName, readonly number[]>> = { one: [1], fan: [1, 8, 1] }

export const key = "sk-bench-0123456789abcdef"
export const topic = "the history of owls in heraldry"
export const modelId = "bench-model"

/** What the model says: an answer of the size that agents are asked for. */
export const output = { summary: "The owls were asleep and the report was late. ".repeat(4), score: 7 }

export const outputSchema = {
  type: "object",
  properties: { summary: { type: "string" }, score: { type: "integer" } },
  required: ["summary", "score"],
  additionalProperties: false,
} as const

const contract = "output { summary: string  score: integer }"

export function source(job: JobName, endpoint: string): string {
  const head = `
input { topic: string }
secrets { key: string }
provider p from openai { endpoint: "${endpoint}"  api_key: secrets.key }
model m from p { id: "${modelId}" }
`
  if (job === "one") {
    return `${head}
agent a { model: model.m  instruction: "Summarise {{ input.topic }} for an impatient reader."  ${contract} }
output { summary: agent.a.summary }`
  }
  const parts = [1, 2, 3, 4, 5, 6, 7, 8]
  return `${head}
agent first { model: model.m  instruction: "Plan {{ input.topic }}."  ${contract} }
${parts.map((n) => `agent w${n} { model: model.m  instruction: "Part ${n} of {{ agent.first.summary }}."  ${contract} }`).join("\n")}
agent last {
  model: model.m
  instruction: "Join ${parts.map((n) => `{{ agent.w${n}.summary }}`).join(" ")}."
  ${contract}
}
output { summary: agent.last.summary }`
}

/** To our service. */
export function executeBody(job: JobName, endpoint: string): string {
  const workflow_source_base64 = Buffer.from(source(job, endpoint)).toString("base64")
  return JSON.stringify({ workflow_source_base64, input: { topic }, secrets: { key } })
}

/** To the others, which know the job already. */
export function plainBody(): string {
  return JSON.stringify({ topic, key })
}
