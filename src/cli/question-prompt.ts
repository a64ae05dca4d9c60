import { childPath } from "../base/child-path.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { AskedQuestion } from "../ports/events.ts"
import { fromJsonSchema } from "../types/from-json-schema.ts"
import { nullable, resolve, withoutNull } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Field, Type, TypeTable } from "../types/types.ts"
import { validateValue } from "../types/validate-value.ts"
import type { Palette } from "./terminal.ts"
import { visibleText } from "./visible-text.ts"

/** How a question reaches a person. */
export interface Person {
  write(line: string): void
  /** The next line that is typed. */
  read(prompt: string): Promise<string>
}

/** The question with all that belongs to it, as lines for a terminal. */
export function questionLines(question: AskedQuestion, palette: Palette): string[] {
  const { kind, name, iteration, to, show, tool, server, endpoint } = question
  const index = iteration === undefined ? "" : `[${iteration}]`
  const head = kind === "ask" ? `ask.${name}${index}` : `tool.${name}${index} wants to be called`
  const lines = [
    `${palette.warning("?")} ${palette.bold(visibleText(head))}${to === null ? "" : visibleText(`, for ${to}`)}`,
  ]
  lines.push(...indented(question.question))
  if (kind === "approval") {
    lines.push(...indented(`tool      ${tool ?? name}\nserver    ${server ?? ""}\nendpoint  ${endpoint ?? ""}`))
    lines.push(...indented(`arguments ${JSON.stringify(question.arguments ?? {}, null, 2)}`))
  } else if (show !== null) lines.push(...indented(typeof show === "string" ? show : JSON.stringify(show, null, 2)))
  return lines
}

function indented(text: string): string[] {
  return text.split(/\r\n|[\n\r]/).map((line) => `  ${visibleText(line)}`.trimEnd())
}

/** Asks for each field that is not known yet, again where what was typed does not fit. */
export async function promptForAnswer(
  question: AskedQuestion,
  known: JsonObject,
  person: Person,
  palette: Palette,
): Promise<JsonValue> {
  for (const line of questionLines(question, palette)) person.write(line)
  if (question.kind === "approval") {
    const approve = await promptForApproval(person)
    const note = approve ? "" : (await person.read("  Why not (may be left empty): ")).trim()
    return { approve, note: note === "" ? null : note }
  }
  const { type, types } = fromJsonSchema(question.schema)
  const record = resolve(type, types)
  if (record.kind !== "record") return promptForValue("answer", type, types, person)
  return { ...known, ...(await promptForFields(record.fields, known, "", types, person)) }
}

async function promptForApproval(person: Person): Promise<boolean> {
  for (;;) {
    const approve = booleanOf(await person.read("  Approve this call? [y/n] "))
    if (approve !== undefined) return approve
    person.write("  Type y to approve it, n to decline it.")
  }
}

async function promptForFields(
  fields: readonly Field[],
  known: JsonObject,
  path: string,
  types: TypeTable,
  person: Person,
): Promise<JsonObject> {
  const answer: JsonObject = {}
  for (const { name, type, doc } of fields) {
    if (Object.hasOwn(known, name)) continue
    const fieldPath = path === "" ? name : childPath(path, name)
    if (doc !== undefined) for (const line of indented(doc)) person.write(line)
    const plain = resolve(type, types)
    answer[name] =
      plain.kind === "record"
        ? await promptForFields(plain.fields, {}, fieldPath, types, person)
        : await promptForValue(fieldPath, type, types, person)
  }
  return answer
}

async function promptForValue(path: string, type: Type, types: TypeTable, person: Person): Promise<JsonValue> {
  for (;;) {
    const text = await person.read(`  ${visibleText(path)} (${visibleText(noteOf(type, types))}): `)
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
function noteOf(type: Type, types: TypeTable): string {
  const shown = showType(type, 60)
  const empty = nullable(type, types) ? ", empty for null" : ""
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
        return JSON.parse(written) as JsonValue
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
