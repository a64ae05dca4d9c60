import { jsonOf } from "../base/bounded-json.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { Budget, makeValue } from "./make-value.ts"
import { textOf, type Question } from "./read-question.ts"
import { hashText } from "./seeded.ts"
import { about, beginning, readTopic, type Topic } from "./topic.ts"

/** What the demo model says: a text, or calls of tools. */
export type Answer =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "calls"
      readonly calls: readonly { readonly name: string; readonly call_id: string; readonly arguments: string }[]
    }

/** Each offered tool is called once, all in one turn; then comes the answer. */
export function composeAnswer(question: Question): Answer {
  const topic = readTopic(question.instruction)
  const budget = new Budget()
  if (question.uncalled.length > 0) {
    const seed = hashText(question.seed).toString(16)
    const calls = question.uncalled.map(({ name, parameters }) => {
      const value = makeValue({ type: "object", ...parameters }, topic, new Map(), seed + name, budget)
      const call_id = `call_${hashText(seed + name)
        .toString(16)
        .padStart(8, "0")}`
      return { name, call_id, arguments: JSON.stringify(value) }
    })
    return { kind: "calls", calls }
  }
  if (!question.json) return { kind: "text", text: composeText(question, topic) }
  const schema = question.schema ?? { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] }
  const value = makeValue(schema, topic, resultsOf(question), question.seed, budget)
  return { kind: "text", text: question.model === "demo-sloppy" ? sloppy(value, question) : JSON.stringify(value) }
}

function composeText(question: Question, topic: Topic): string {
  const note = "(This is the demo model: no real model wrote this.)"
  if (topic.greets !== null) return `Hello, ${topic.greets}. ${note}`
  if (/\b(summar|compact|condens|shorten)/i.test(topic.instruction)) {
    const said = question.items.filter((item) => item["role"] === "user" || item["role"] === "assistant").slice(0, -1)
    const lines = said
      .slice(-6)
      .map((item) => `- ${item["role"] === "user" ? "user" : "assistant"}: ${beginning(textOf(item), 100)}`)
    return ["Summary so far:", ...(lines.length > 0 ? lines : [`- ${beginning(topic.instruction, 100)}`]), note].join(
      "\n",
    )
  }
  const results = question.items.filter((item) => item["type"] === "function_call_output").slice(-3)
  const found = results.map((item) => beginning(outputText(item), 80)).join("; ")
  const by = found === "" ? "" : ` The tools said: ${found}.`
  return `You asked about ${about(topic, 6)}.${by} ${note}`
}

function outputText(item: JsonObject): string {
  const { output } = item
  return typeof output === "string" ? output : JSON.stringify(output)
}

/** What the tools returned, by the names of its fields, the outer ones and the later ones first. */
function resultsOf(question: Question): ReadonlyMap<string, JsonValue> {
  const known = new Map<string, JsonValue>()
  const level: JsonValue[] = question.items
    .filter((item) => item["type"] === "function_call_output")
    .map((item) => parse(outputText(item)))
    .reverse()
  for (let at = 0; at < level.length && at < 200; at++) {
    const value = level[at]
    if (Array.isArray(value)) level.push(...value.slice(0, 10))
    if (!isJsonObject(value)) continue
    for (const [name, field] of Object.entries(value)) {
      if (!known.has(name)) known.set(name, field)
      level.push(field)
    }
  }
  return known
}

function parse(text: string): JsonValue {
  const value = jsonOf(text)
  return value === undefined ? text : value
}

/**
 * Three answers to one question: in a fence, with a trailing comma and a field of the wrong type; then cut off; then
 * right. Which one is due shows in the answer that is complained about.
 */
function sloppy(value: JsonValue, question: Question): string {
  const text = JSON.stringify(value)
  const before = question.last_answer
  if (before?.startsWith("```") === true) return text.slice(0, Math.max(1, Math.floor(text.length * 0.7)))
  if (before !== null && before.startsWith("{") && parse(before) === before) return text
  return `\`\`\`json\n${JSON.stringify(spoil(value), null, 2).replace(/\n\}$/, ",\n}")}\n\`\`\`\nThere you are!`
}

function spoil(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value
  const [first, ...others] = Object.entries(value)
  if (first === undefined) return { unasked: true }
  const [name, field] = first
  return Object.fromEntries([[name, typeof field === "string" ? 42 : "not sure"], ...others])
}
