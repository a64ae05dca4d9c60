import { parseInOrder } from "../../base/ordered-object.ts"
import { Buffer } from "node:buffer"
import { basename } from "node:path"
import { didYouMean } from "../../base/did-you-mean.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { fileBytes } from "../../base/limits.ts"
import { resolve, withoutNull } from "../../types/relations.ts"
import type { Type, TypeTable } from "../../types/types.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { readNamedBytes, readNamedFile, tooLarge } from "./read-file.ts"

export interface ValueFlags {
  readonly input?: string
  readonly set?: readonly string[]
  readonly secretsFile?: string
  readonly secret?: readonly string[]
}

export interface Values {
  readonly input: JsonObject
  readonly secrets: JsonObject
}

/** Input and secrets as the command line gives them. `stdin` is read only when `--input -` asks for it, of a field of type `file` at most `maxFile` bytes. */
export async function readValues(
  plan: Plan,
  flags: ValueFlags,
  environment: Readonly<Record<string, string | undefined>>,
  stdin: () => Promise<string>,
  maxFile: number,
): Promise<Values> {
  const input = flags.input === undefined ? {} : await readInput(flags.input, stdin)
  for (const assignment of flags.set ?? []) assign(input, assignment, plan, maxFile)
  const secrets = flags.secretsFile === undefined ? {} : parseObject(readText(flags.secretsFile), flags.secretsFile)
  for (const assignment of flags.secret ?? []) {
    const [name, value] = readSecret(assignment, plan, environment)
    secrets[name] = value
  }
  return { input, secrets }
}

async function readInput(given: string, stdin: () => Promise<string>): Promise<JsonObject> {
  if (given === "-") return parseObject(await stdin(), "standard input")
  return given.trimStart().startsWith("{") ? parseObject(given, "--input") : parseObject(readText(given), given)
}

/** All of standard input. */
export async function readInputStream(stream: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    length += chunk.length
    if (length > fileBytes) throw new WrongValue(`standard input ${tooLarge}.`)
    chunks.push(Buffer.from(chunk))
  }
  return Buffer.concat(chunks).toString("utf8")
}

export function readText(path: string): string {
  const { text, problem } = readNamedFile(path)
  if (text === null) throw new WrongValue(`${path} ${problem}.`)
  return text
}

export function parseObject(text: string, name: string): JsonObject {
  let value: JsonValue
  try {
    value = parseInOrder(text.replace(/^\uFEFF/, "")) as JsonValue
  } catch (error) {
    // The parser's sentence quotes the text, which may be secret.
    const place = error instanceof Error ? (/ at position \d+|line \d+ column \d+/.exec(error.message)?.[0] ?? "") : ""
    throw new WrongValue(`${name} is not JSON${place === "" ? "" : ` (${place.trim()})`}.`)
  }
  if (!isJsonObject(value)) throw new WrongValue(`${name} must be a JSON object.`)
  return value
}

/** `files[0].path=a.ts`, `diff=@d.diff`: a value of a text type is taken as it stands, any other as JSON. A field of type `file` takes the file itself. */
function assign(input: JsonObject, assignment: string, plan: Plan, maxFile: number): void {
  const { path, keys, text } = readAssignment("--set", assignment)
  const [first] = keys
  const known = plan.input.fields.map(({ name }) => name)
  if (typeof first === "string" && !known.includes(first)) {
    const meant = didYouMean(first, known)
    throw new WrongValue(
      `--set ${path}: the workflow has no input ${first}${meant === undefined ? "." : `; did you mean ${meant}?`}`,
    )
  }
  const type = typeAt(plan.input, keys, plan.types)
  const value = isFile(type, plan.types)
    ? fileOf(text, path, maxFile)
    : readValue(textOrFile(text, path, type, plan.types), type, plan.types)
  put(input, keys, value, `--set ${path}`)
}

function isFile(type: Type | null, types: TypeTable): boolean {
  return type !== null && resolve(withoutNull(type, types), types).kind === "file"
}

/** `@contract.pdf` is that file; JSON and data URLs are taken as a service takes them. */
function fileOf(text: string, field: string, maxFile: number): JsonValue {
  if (!text.startsWith("@")) {
    if (text.trimStart().startsWith("{") || text.startsWith("data:") || text === "null")
      return readValue(text, null, {})
    throw new WrongValue(`--set ${field}: write @PATH for a file, or { "url": "https://…" } for one that is fetched.`)
  }
  const path = text.slice(1)
  if (path === "") throw new WrongValue(`--set ${field}: name a file after @.`)
  const { bytes, problem } = readNamedBytes(path, maxFile)
  if (bytes === null) throw new WrongValue(`--set ${field}: ${path} ${problem}.`)
  return { data: bytes.toString("base64"), name: basename(path) }
}

/** `@notes.txt` is what the file holds, `@@ada` is the text `@ada`. */
function textOrFile(text: string, field: string, type: Type | null, types: TypeTable): string {
  if (!text.startsWith("@")) return text
  const known = type === null ? null : resolve(withoutNull(type, types), types)
  if (known?.kind === "array" && isFile(known.element, types))
    throw new WrongValue(`--set ${field}: it is a list of files: write ${field}[0]=${text}, and so on.`)
  if (text.startsWith("@@")) return text.slice(1)
  if (text === "@") throw new WrongValue(`--set ${field}: name a file after @, or write @@ for a literal @.`)
  return readText(text.slice(1)).replace(/^\uFEFF/, "")
}

export interface Assignment {
  readonly path: string
  /** At least one: a name, then names and numbers. */
  readonly keys: readonly (string | number)[]
  readonly text: string
}

/** `a.b[0]=value` of a flag. */
export function readAssignment(flag: string, assignment: string): Assignment {
  const at = assignment.indexOf("=")
  const path = at < 0 ? "" : assignment.slice(0, at).trim()
  const keys = keysOf(path)
  if (keys === null) throw new WrongValue(`${flag} ${assignment}: write it as field=value, a.b=value or a[0]=value.`)
  return { path, keys, text: assignment.slice(at + 1) }
}

function keysOf(path: string): (string | number)[] | null {
  if (!/^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[\d{1,6}\])*$/.test(path)) return null
  return [...path.matchAll(/[A-Za-z_][\w-]*|\d+/g)].map(([key]) => (/^\d/.test(key) ? Number(key) : key))
}

export function typeAt(type: Type, keys: readonly (string | number)[], types: TypeTable): Type | null {
  let current: Type | null = type
  for (const key of keys) {
    if (current === null) return null
    const resolved = resolve(withoutNull(current, types), types)
    if (typeof key === "string") {
      if (resolved.kind === "map") current = resolved.value
      else
        current = resolved.kind === "record" ? (resolved.fields.find(({ name }) => name === key)?.type ?? null) : null
    } else if (resolved.kind === "array") current = resolved.element
    else current = resolved.kind === "tuple" ? (resolved.elements[key] ?? null) : null
  }
  return current
}

export function readValue(text: string, type: Type | null, types: TypeTable): JsonValue {
  const kind = type === null ? null : resolve(withoutNull(type, types), types).kind
  const isText = kind === "string" || kind === "enum" || kind === "literal"
  if (isText && !(text === "null" && type !== null && type.kind === "union")) return text
  try {
    return parseInOrder(text) as JsonValue
  } catch {
    return text
  }
}

/** Sets the value at a path of names and numbers; `about` begins what is said of one that does not fit. */
export function put(root: JsonObject, keys: readonly (string | number)[], value: JsonValue, about: string): void {
  let holder: JsonObject | JsonValue[] = root
  for (const [depth, key] of keys.entries()) {
    if (Array.isArray(holder) !== (typeof key === "number"))
      throw new WrongValue(`${about}: ${String(key)} does not fit there.`)
    if (Array.isArray(holder) && Number(key) > holder.length) {
      throw new WrongValue(`${about}: element ${key} comes before ${holder.length} is set.`)
    }
    const target = holder as Record<string | number, JsonValue>
    if (depth === keys.length - 1) {
      target[key] = value
      return
    }
    const next: JsonValue | undefined = Object.hasOwn(target, key) ? target[key] : undefined
    const inner: JsonValue = next ?? (typeof keys[depth + 1] === "number" ? [] : {})
    if (typeof inner !== "object" || inner === null)
      throw new WrongValue(`${about}: ${String(key)} is a value already.`)
    target[key] = inner
    holder = inner
  }
}

/** `name=env:VARIABLE` or `name=file:PATH`: a value on the command line is there for every process to see. */
export function readSecret(
  assignment: string,
  plan: Pick<Plan, "secrets" | "types">,
  environment: Readonly<Record<string, string | undefined>>,
): [string, JsonValue] {
  const [, name, from, where] = /^([A-Za-z_]\w*)=(env|file):(.+)$/s.exec(assignment) ?? []
  if (name === undefined || where === undefined) {
    throw new WrongValue(
      "--secret: write it as name=env:VARIABLE or name=file:PATH, so that the value stays out of sight.",
    )
  }
  const type = plan.secrets.fields.find((field) => field.name === name)?.type ?? null
  if (from === "file") return [name, readValue(readText(where).replace(/\r?\n$/, ""), type, plan.types)]
  const value = environment[where]
  if (value === undefined) throw new WrongValue(`--secret ${name}: the variable ${where} is not set.`)
  return [name, readValue(value, type, plan.types)]
}
