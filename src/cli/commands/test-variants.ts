import { isJsonObject } from "../../base/is-json-object.ts"
import { jsonOf } from "../../base/bounded-json.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { parse } from "../../syntax/parser.ts"
import { choiceOf, modelEntries } from "../../syntax/model-choice.ts"
import type { Property } from "../../syntax/tree.ts"
import { WrongValue } from "../terminal/command-failure.ts"

/** One way to write an agent, or the whole file, otherwise. */
export interface SourceVariant {
  readonly name: string
  /** The only agent whose model is called; null for a whole source that names none: then all may be. */
  readonly agent: string | null
  readonly instruction?: string
  readonly system?: string
  /** `fast`, or several that are tried in turn. */
  readonly model?: readonly string[]
  readonly inference?: JsonObject
  readonly source?: string
}

const example = '[{ "name": "short", "agent": "reply", "instruction": "…" }]'
const fields = ["name", "agent", "instruction", "system", "model", "inference", "source"]

/** Reads a file of variants. Throws a `WrongValue` that names what is wrong in it. */
export function readVariants(text: string, file: string): readonly SourceVariant[] {
  const value = jsonOf(text)
  if (!Array.isArray(value) || value.length === 0) throw new WrongValue(`${file} must be a list such as ${example}.`)
  const variants = value.map((one, index) => readVariant(one, (problem) => `${file}: [${index}]${problem}.`))
  const names = variants.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new WrongValue(`${file}: two variants have the name "${twice}".`)
  return variants
}

function readVariant(value: JsonValue, say: (problem: string) => string): SourceVariant {
  if (!isJsonObject(value)) throw new WrongValue(say(` must be an object such as ${example.slice(1, -1)}`))
  const unknown = Object.keys(value).find((key) => !fields.includes(key))
  if (unknown !== undefined) throw new WrongValue(say(`.${unknown} is unknown: it takes ${fields.join(", ")}`))
  const text = (key: string): string | undefined => {
    const given = value[key]
    if (given === undefined || (typeof given === "string" && given.trim() !== "")) return given
    throw new WrongValue(say(`.${key} must be a text that is not empty`))
  }
  const name = text("name")
  if (name === undefined) throw new WrongValue(say(".name is missing"))
  const [instruction, system, source] = [text("instruction"), text("system"), text("source")]
  const agent = text("agent")?.replace(/^agent\./, "") ?? null
  const { inference } = value
  if (inference !== undefined && !isJsonObject(inference)) throw new WrongValue(say(".inference must be an object"))
  const models = [value["model"] ?? []].flat().map((model) => {
    if (typeof model === "string" && /^(?:model\.)?[A-Za-z_]\w*$/.test(model)) return model.replace(/^model\./, "")
    throw new WrongValue(say(".model must be the name of a model, or a list of names"))
  })
  const changes = {
    ...(instruction !== undefined && { instruction }),
    ...(system !== undefined && { system }),
    ...(models.length > 0 && { model: models }),
    ...(inference !== undefined && { inference }),
  }
  if (source === undefined && Object.keys(changes).length === 0)
    throw new WrongValue(say(" changes nothing: give it instruction, system, model, inference or source"))
  if (agent === null && Object.keys(changes).length > 0) throw new WrongValue(say(".agent is missing"))
  return { name, agent, ...changes, ...(source !== undefined && { source }) }
}

/** The source with the agent as the variant has it; null where it has no such agent. */
export function changeSource(written: string, variant: SourceVariant): string | null {
  const source = variant.source ?? written
  if (variant.agent === null) return source
  const { tree } = parse(source)
  const agent = tree.declarations.find((one) => one.kind === "agent" && one.name.text === variant.agent)
  if (agent?.kind !== "agent" || agent.body === undefined) return null
  const { items } = agent.body
  const edits: { readonly start: number; readonly end: number; readonly text: string }[] = []
  const set = (name: string, text: string): void => {
    const own = items.find((item) => item.name.text === name)
    if (own !== undefined) edits.push({ start: own.start, end: own.end, text: `${name}${text}` })
    else if (items[0] !== undefined)
      edits.push({ start: items[0].start, end: items[0].start, text: `${name}${text}\n` })
  }
  const { instruction, system, model, inference } = variant
  if (instruction !== undefined) set("instruction", `: ${stringOf(instruction)}`)
  if (system !== undefined) set("system", `: ${stringOf(system)}`)
  if (model !== undefined || inference !== undefined) {
    const uses = modelUses(variant, items, source)
    set("model", `: ${uses.length === 1 ? uses.join("") : `[${uses.join(", ")}]`}`)
  }
  return edits
    .toSorted((a, b) => b.start - a.start || b.end - a.end)
    .reduce((text, { start, end, text: changed }) => text.slice(0, start) + changed + text.slice(end), source)
}

/** The models of the agent, or those of the variant, with its settings before those that are written there. */
function modelUses(
  { name, model, inference = {} }: SourceVariant,
  items: readonly Property[],
  source: string,
): string[] {
  const value = items.find((item) => item.name.text === "model")?.value
  const written = value === undefined || choiceOf(value, undefined) !== undefined ? undefined : modelEntries(value)
  if (model === undefined && written === undefined)
    throw new WrongValue(`The variant "${name}": the agent chooses its model; give a "model" beside "inference".`)
  const uses = model?.map((one) => ({ text: `model.${one}`, own: [] as readonly Property[] }))
  const own = written?.map(({ reference, block }) => ({
    text: source.slice(reference.start, reference.end),
    own: settingsIn(block?.items ?? []),
  }))
  return (uses ?? own ?? []).map((use) => {
    const lines = [
      ...use.own
        .filter((item) => !Object.hasOwn(inference, item.name.text))
        .map(({ start, end }) => source.slice(start, end)),
      ...Object.entries(inference).map(([key, setting]) => `${key}: ${JSON.stringify(setting)}`),
    ]
    return lines.length === 0 ? use.text : `${use.text} {\ninference {\n${lines.join("\n")}\n}\n}`
  })
}

function settingsIn(items: readonly Property[]): readonly Property[] {
  const value = items.find(({ name }) => name.text === "inference")?.value
  return value?.kind === "properties" ? value.block.items : []
}

/** A text with interpolations as the language writes it on one line. */
function stringOf(text: string): string {
  let written = ""
  let at = 0
  while (at < text.length) {
    const start = text.indexOf("{{", at)
    const close = start < 0 ? -1 : text.indexOf("}}", start)
    if (close < 0) break
    const expression = text.slice(start, close + 2).split("\n")
    written += escaped(text.slice(at, start)) + expression.map((line) => line.trim()).join(" ")
    at = close + 2
  }
  return `"${written}${escaped(text.slice(at))}"`
}

function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\r", "\\r")
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t")
}
