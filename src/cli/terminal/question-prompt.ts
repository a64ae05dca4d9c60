import { parseInOrder } from "../../base/ordered-object.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { childPath } from "../../base/child-path.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AskedQuestion } from "../../log/events.ts"
import { formIn } from "../../log/elicitation-answer.ts"
import { fromJsonSchema } from "../../types/from-json-schema.ts"
import { maybe, nullable, resolve, withoutNull } from "../../types/relations.ts"
import { showType } from "../../types/show-type.ts"
import type { Field, Type, TypeTable } from "../../types/types.ts"
import { validateValue } from "../../types/validate-value.ts"
import type { Palette } from "./terminal.ts"
import { exactJson, visibleJson, visibleLines, visibleText } from "../../base/visible-text.ts"
import { cellWidth } from "./cell-width.ts"

/** How a question reaches a person. */
export interface Person {
  write(line: string): void
  /** The next line that is typed. */
  read(prompt: string): Promise<string>
  /** Width of the terminal. */
  readonly columns: number
}

/**
 * The question with all that belongs to it, as lines for a terminal of so many columns. What the run shows stands behind a bar, also where a
 * long line goes on: nothing in it can be taken for a line of ours.
 */
export function questionLines(question: AskedQuestion, palette: Palette, columns = Infinity): string[] {
  const { kind, to, show } = question
  const head = {
    ask: questionSubject(question),
    approval: `${questionSubject(question)} wants to be called`,
    elicitation: `the server ${question.server ?? ""} asks, in a call of ${questionSubject(question)}`,
  }[kind]
  const lines = [
    `${palette.warning("?")} ${palette.bold(visibleText(head))}${to === null ? "" : visibleText(`, for ${to}`)}`,
    ...barred(visibleLines(question.question), columns),
  ]
  if (show !== null)
    lines.push(...barred(typeof show === "string" ? visibleLines(show) : visibleJson(show, 2), columns))
  if (kind === "approval") lines.push(...barred(callText(question), columns))
  return lines
}

/** The name of a question with the path of calls that leads to it, as the command line takes it: `triage.review`. */
export function questionPath({ name, scope }: Pick<AskedQuestion, "name" | "scope">): string {
  const levels = scope === undefined ? [] : scope.split("/").map((level) => level.slice(0, level.indexOf("@")))
  return [...levels, name].join(".")
}

/** The step, tool or workflow that a question is about. */
export function questionSubject(question: AskedQuestion): string {
  const { kind, iteration, workflow } = question
  const word = kind === "ask" ? "ask" : workflow === undefined ? "tool" : "workflow"
  return `${word}.${questionPath(question)}${iteration === undefined ? "" : `[${iteration}]`}`
}

/** The call to approve, character by character. */
function callText({ tool, name, server, endpoint, workflow, file, digest, arguments: sent }: AskedQuestion): string {
  const called =
    workflow === undefined
      ? { tool: tool ?? name, server: server ?? "", endpoint: endpoint ?? "" }
      : { workflow, file: file ?? "" }
  const facts = { ...called, digest: digest ?? "" }
  const rows = Object.entries(facts).map(([key, value]) => `${key.padEnd(11)}${exactJson(value)}`)
  return [...rows, `arguments  ${exactJson(sent ?? {}, 2)}`].join("\n")
}

function barred(text: string, columns: number): string[] {
  const room = Math.max(20, columns - 5)
  return text.split("\n").flatMap((line) => wrapped(line, room).map((piece) => `  │ ${piece}`.trimEnd()))
}

/** The line in pieces of at most so many cells. */
function wrapped(line: string, room: number): string[] {
  if (line.length * 2 <= room) return [line]
  const pieces: string[] = []
  let piece = ""
  let width = 0
  for (const character of line) {
    const cells = cellWidth(character)
    if (width + cells > room) {
      pieces.push(piece)
      piece = ""
      width = 0
    }
    piece += character
    width += cells
  }
  return [...pieces, piece]
}

/** Asks for each field that is not known yet, again where what was typed does not fit. */
export async function promptForAnswer(
  question: AskedQuestion,
  known: JsonObject,
  person: Person,
  palette: Palette,
): Promise<JsonValue> {
  for (const line of questionLines(question, palette, person.columns)) person.write(line)
  if (question.kind === "approval") {
    const approve = await promptForYes("Approve this call?", person)
    const note = approve ? "" : (await person.read("  Why not (may be left empty): ")).trim()
    return { approve, note: note === "" ? null : note }
  }
  if (question.kind === "elicitation") return promptForServer(question, person)
  const { type, types } = fromJsonSchema(question.schema)
  const record = resolve(type, types)
  if (record.kind !== "record") return promptForValue("answer", type, types, person)
  return { ...known, ...(await promptForFields(record.fields, known, question.prefill ?? {}, "", types, person)) }
}

/** Whether to answer the server, and then each field of its form; one that may be left out may be left empty. */
async function promptForServer({ schema }: AskedQuestion, person: Person): Promise<JsonObject> {
  const action = await promptForValue("action", { kind: "enum", values: ["accept", "decline", "cancel"] }, {}, person)
  const form = formIn(schema)
  if (action !== "accept" || form === null) return { action }
  const { type, types } = fromJsonSchema(form)
  const required = Array.isArray(form["required"]) ? form["required"] : []
  const fields = type.kind === "record" ? type.fields : []
  const asked = fields.map((field) => (required.includes(field.name) ? field : { ...field, type: maybe(field.type) }))
  return { action, content: await promptForFields(asked, {}, {}, "", types, person) }
}

/** The answer to a question of yes or no. */
export async function promptForYes(question: string, person: Person): Promise<boolean> {
  for (;;) {
    const yes = booleanOf(await person.read(`  ${question} [y/n] `))
    if (yes !== undefined) return yes
    person.write("  Type y or n.")
  }
}

async function promptForFields(
  fields: readonly Field[],
  known: JsonObject,
  prefill: JsonObject,
  path: string,
  types: TypeTable,
  person: Person,
): Promise<JsonObject> {
  const answer: JsonObject = {}
  for (const { name, type, doc } of fields) {
    if (Object.hasOwn(known, name)) continue
    const fieldPath = path === "" ? name : childPath(path, name)
    if (doc !== undefined) for (const line of visibleLines(doc).split("\n")) person.write(`  ${line}`.trimEnd())
    const plain = resolve(type, types)
    const begun = prefill[name]
    answer[name] =
      plain.kind === "record"
        ? await promptForFields(plain.fields, {}, isJsonObject(begun) ? begun : {}, fieldPath, types, person)
        : await promptForValue(fieldPath, type, types, person, begun)
  }
  return answer
}

/** `begun`: what the form begins with, which an empty line leaves as it is. */
async function promptForValue(
  path: string,
  type: Type,
  types: TypeTable,
  person: Person,
  begun?: JsonValue,
): Promise<JsonValue> {
  for (;;) {
    const text = await person.read(`  ${visibleText(path)} (${visibleText(noteOf(type, types, begun))}): `)
    if (begun !== undefined && text.trim() === "") return begun
    const value = valueOf(text, type, types)
    if (value === undefined) {
      person.write(`  ${visibleText(`This is not JSON: ${text}`)}`)
      continue
    }
    const [misfit] = validateValue(value, type, types, path)
    if (misfit === undefined) return value
    person.write(`  ${visibleText(misfit.message)}`)
  }
}

/** The type, and how it is typed where that does not go without saying. */
function noteOf(type: Type, types: TypeTable, begun?: JsonValue): string {
  const shown = showType(type, 60)
  const taken = begun === undefined ? (nullable(type, types) ? "null" : undefined) : exactJson(begun)
  const empty = taken === undefined ? "" : `, empty for ${taken}`
  const { kind } = resolve(withoutNull(type, types), types)
  const how = kind === "boolean" ? ", y or n" : isPlain(kind) ? "" : ", as JSON"
  return `${shown}${how}${empty}`
}

function isPlain(kind: Type["kind"]): boolean {
  return ["string", "number", "integer", "boolean", "enum", "literal", "null"].includes(kind)
}

/** What was typed as a value of the type; undefined for what should be JSON and is not. */
function valueOf(text: string, type: Type, types: TypeTable): JsonValue | undefined {
  const written = text.trim()
  if (written === "" && nullable(type, types)) return null
  const plain = resolve(withoutNull(type, types), types)
  switch (plain.kind) {
    case "string":
      return text
    case "literal":
    case "enum":
      return written
    case "boolean":
      return booleanOf(text) ?? text
    case "number":
    case "integer": {
      const number = Number(written.replaceAll("_", ""))
      return written === "" || Number.isNaN(number) ? text : number
    }
    default:
      try {
        return parseInOrder(written) as JsonValue
      } catch {
        return undefined
      }
  }
}

function booleanOf(text: string): boolean | undefined {
  const written = text.trim().toLowerCase()
  if (["y", "yes", "true"].includes(written)) return true
  return ["n", "no", "false"].includes(written) ? false : undefined
}
