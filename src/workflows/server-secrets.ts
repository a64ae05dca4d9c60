import { readFileSync, statSync } from "node:fs"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject } from "../base/json-value.ts"
import { stampOf } from "./file-stamp.ts"

/** `WIRE_SECRETS_FILE`, as read. */
interface SecretsFile {
  readonly all: JsonObject
  readonly workflows: ReadonlyMap<string, JsonObject>
}

const neededMode = 0o600
const noFile: SecretsFile = { all: {}, workflows: new Map() }

export interface SecretSources {
  /** `WIRE_SECRETS_FILE`; undefined without one. */
  readonly file: string | undefined
  /** By the name of the variable without `WIRE_SECRET_`. */
  readonly variables: Readonly<Record<string, string>>
  /** Hears of a file that can no longer be read: a sentence for the operator. */
  readonly tell: (sentence: string) => void
}

/**
 * The server's own secrets. The file is read again when it has changed: a new value counts for every run that is taken up from
 * then on. While the changed file is wrong, the values before it stay.
 */
export class ServerSecrets {
  readonly #sources: SecretSources
  #stamp = ""
  #read: SecretsFile = noFile
  #version = 0

  /** Throws an `Error` whose message is a sentence for the operator. */
  constructor(sources: SecretSources) {
    this.#sources = sources
    if (sources.file === undefined) return
    this.#stamp = stampOf(sources.file)
    this.#read = readSecrets(sources.file)
  }

  /** Whether the server has any, or a file that may get some. */
  get present(): boolean {
    return this.#sources.file !== undefined || Object.keys(this.#sources.variables).length > 0
  }

  /** Another number after each change. */
  get version(): number {
    this.#refresh()
    return this.#version
  }

  /** The secrets with these names that a workflow may have: its own come first, then those of all workflows, then variables. */
  of(workflow: string, names: readonly string[]): JsonObject {
    this.#refresh()
    const own = this.#read.workflows.get(workflow) ?? {}
    const found: [string, JsonObject[string]][] = []
    for (const name of names) {
      const variable = name.toUpperCase()
      const value = valueIn(own, name) ?? valueIn(this.#read.all, name) ?? valueIn(this.#sources.variables, variable)
      if (value !== undefined) found.push([name, value])
    }
    return Object.fromEntries(found)
  }

  #refresh(): void {
    const { file, tell } = this.#sources
    if (file === undefined) return
    const stamp = stampOf(file)
    if (stamp === this.#stamp) return
    this.#stamp = stamp
    try {
      this.#read = readSecrets(file)
      this.#version++
    } catch (error) {
      tell(`${error instanceof Error ? error.message : String(error)} Until then the secrets stay as they were.`)
    }
  }
}

function valueIn(values: JsonObject, name: string): JsonObject[string] | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

/** Throws an `Error` that names the file, and never quotes from it. */
function readSecrets(file: string): SecretsFile {
  const must = (what: string): Error => new Error(`WIRE_SECRETS_FILE is "${file}": ${what}.`)
  let text: string
  try {
    const mode = statSync(file).mode & 0o777
    if (process.platform !== "win32" && mode !== neededMode) {
      throw must(`its mode is 0${mode.toString(8)} and must be 0600 (chmod 600)`)
    }
    text = readFileSync(file, "utf8")
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error
    throw must(`it cannot be read (${String(error.code)})`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw must("it is not valid JSON")
  }
  if (!isJsonObject(value)) throw must('it must hold { "all": { … }, "workflows": { … } }')
  const extra = Object.keys(value).find((key) => key !== "all" && key !== "workflows")
  if (extra !== undefined) throw must(`"${extra}" is not known there: it holds "all" and "workflows"`)
  const { all = {}, workflows = {} } = value
  if (!isJsonObject(all)) throw must('"all" must be an object of secrets by name')
  if (!isJsonObject(workflows)) throw must('"workflows" must be an object of workflows by name')
  const byName = new Map<string, JsonObject>()
  for (const [name, secrets] of Object.entries(workflows)) {
    if (!isJsonObject(secrets)) throw must(`"${name}" in "workflows" must be an object of secrets by name`)
    byName.set(name, secrets)
  }
  return { all, workflows: byName }
}
