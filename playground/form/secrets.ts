import { computed, signal } from "@preact/signals"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { nullable, resolve } from "../../src/types/relations.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import type { Misfit } from "../../src/types/validate-value.ts"
import type { Type, TypeTable } from "../../src/types/types.ts"
import { destinationsOf } from "./destinations.ts"
import { currentInput } from "./input.ts"
import { served } from "../service/served.ts"
import { compilation, lastPlan } from "../language/source.ts"

/**
 * What was typed into the fields of secrets, by name. In this signal and nowhere else: never in storage, a link, a
 * snippet or a log.
 */
export const secretTexts = signal<Readonly<Record<string, string>>>({})

export const secretFields = computed(() => compilation.value.secrets?.fields ?? [])

/** The secrets that the workflow declares, as they are sent, and what does not fit. */
export const secretCheck = computed((): { readonly value: JsonObject; readonly misfits: readonly Misfit[] } => {
  const { types } = compilation.value
  const values: [string, JsonValue][] = []
  // What the server has of its own workflow need not be typed.
  const fields = secretFields.value.filter(({ name }) => {
    return secretText(name) !== "" || served.value?.secrets[name] !== "set"
  })
  for (const { name, type } of fields) {
    const text = secretText(name)
    if (text !== "") values.push([name, isText(type, types) ? text : parsed(text)])
    else if (nullable(type, types)) values.push([name, null])
  }
  const value: JsonObject = Object.fromEntries(values)
  const type = { kind: "record", fields } as const
  return { value, misfits: validateValue(value, type, types, "secrets", { values: "hidden" }) }
})

/** Whether a secret of this type is typed as it is; others are typed as JSON. */
export function isText(type: Type, types: TypeTable): boolean {
  const known = resolve(type, types)
  if (known.kind === "union") return known.members.some((member) => isText(member, types))
  return known.kind === "string" || known.kind === "enum" || known.kind === "literal"
}

/** The hosts that would receive each secret in a run with the input as it is now, by the secret's name. */
export const secretHosts = computed((): ReadonlyMap<string, readonly string[]> => {
  const hosts = new Map<string, string[]>()
  for (const { host, secrets } of destinationsOf(lastPlan.value, currentInput())) {
    for (const name of secrets) hosts.set(name, [...(hosts.get(name) ?? []), host])
  }
  return hosts
})

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

/** What was typed for a secret. Names such as `constructor` are names of secrets, too. */
export function secretText(name: string): string {
  return Object.hasOwn(secretTexts.value, name) ? (secretTexts.value[name] ?? "") : ""
}

export function setSecret(name: string, text: string): void {
  secretTexts.value = { ...secretTexts.value, [name]: text }
}

/**
 * Fills the fields of all secrets that a pasted JSON object names: `{ "api_key": "…", "login": { "user": "…" } }`. False where the text is something
 * else, and belongs in the one field.
 */
export function pasteSecrets(text: string): boolean {
  const given = parsed(text)
  if (!isJsonObject(given)) return false
  const names = secretFields.value.map(({ name }) => name).filter((name) => Object.hasOwn(given, name))
  for (const name of names) {
    const value = given[name] ?? null
    setSecret(name, typeof value === "string" ? value : value === null ? "" : JSON.stringify(value))
  }
  return names.length > 0
}

/** Whether anything was typed for the shown file. */
export function hasSecrets(): boolean {
  return Object.values(secretTexts.value).some((text) => text !== "")
}

export function forgetSecrets(): void {
  secretTexts.value = {}
}

/** What was typed for files that are not shown; in memory alone, like those of the shown one. */
const shelved = new Map<string, Readonly<Record<string, string>>>()

/** Stores the secrets of one file and loads those of another. */
export function swapSecrets(from: string, to: string): void {
  shelved.set(from, secretTexts.value)
  secretTexts.value = shelved.get(to) ?? {}
  shelved.delete(to)
}

export function forgetSecretsOf(file: string): void {
  shelved.delete(file)
}

/** Name and value of every secret that the page knows. */
function allSecrets(): [string, string][] {
  return [secretTexts.value, ...shelved.values()].flatMap((texts) => Object.entries(texts))
}

/** Shorter ones cannot be distinguished from ordinary text. */
const shortest = 4

/** The secret whose value is in a text that is about to be kept, shared or copied. */
export function secretIn(text: string): string | undefined {
  return allSecrets().find(([, value]) => formsOf(value).some((form) => text.includes(form)))?.[0]
}

/** The text with `[secret:name]` in the place of each secret's value. */
export function withoutSecrets(text: string): string {
  let clean = text
  for (const [name, value] of allSecrets()) {
    for (const form of formsOf(value)) clean = clean.replaceAll(form, `[secret:${name}]`)
  }
  return clean
}

/** A value as it is, and as JSON writes it. */
function formsOf(value: string): string[] {
  return value.length < shortest ? [] : [value, JSON.stringify(value).slice(1, -1)]
}
