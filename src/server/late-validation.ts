import type { FastifyServerOptions } from "fastify"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject } from "../base/json-value.ts"
import { dropNulls } from "../base/typed-schema.ts"
import { describeProblems } from "./answer-error.ts"
import type { HttpError } from "./http-error.ts"
import { wholeNumber } from "./whole-number.ts"

type Check = (value: unknown) => true | { readonly error: HttpError }

interface RouteSchema {
  readonly schema: JsonObject
  readonly httpPart?: string
}

/**
 * Compiles the schema of a request when the first such request comes, and loads the compiler for the first of all: at the start
 * of the service the two would be a quarter of the time.
 */
function lateValidation({ schema, httpPart }: RouteSchema): (value: unknown) => ReturnType<Check> | Promise<true> {
  const place = httpPart === "querystring" ? "query" : (httpPart ?? "request")
  const numbers = httpPart === "querystring" ? numbersOf(schema) : []
  let check: Check | null = null
  const first = async (value: unknown): Promise<true> => {
    check ??= await load(schema, place)
    const found = check(value)
    // Fastify takes the reason from a rejection here, and from what is returned otherwise.
    if (found !== true) throw found.error
    return true
  }
  return (value) => {
    if (httpPart === "body") dropNulls(schema, value)
    if (numbers.length > 0) readNumbers(value as Record<string, unknown>, numbers)
    return check === null ? first(value) : check(value)
  }
}

/** Checks the body or query of a route that shares its pattern with another. */
export function requestCheck(schema: JsonObject, httpPart: "body" | "querystring"): (value: unknown) => Promise<void> {
  const check = lateValidation({ schema, httpPart })
  return async (value) => {
    const found = await check(value)
    if (found !== true) throw found.error
  }
}

/** The names of properties that are numbers, with what reads the text of each. */
function numbersOf({ properties }: JsonObject): [string, (text: string) => number | null][] {
  return Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, schema]) => {
    const type = isJsonObject(schema) ? schema["type"] : undefined
    return type === "integer" ? [[name, wholeNumber]] : type === "number" ? [[name, decimalNumber]] : []
  })
}

function decimalNumber(text: string): number | null {
  return /^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : null
}

/** A query has only texts. One that is no number stays as it is, and is refused as such. */
function readNumbers(query: Record<string, unknown>, numbers: ReturnType<typeof numbersOf>): void {
  for (const [name, read] of numbers) {
    const text = query[name]
    if (typeof text === "string") query[name] = read(text) ?? text
  }
}

async function load(schema: JsonObject, place: string): Promise<Check> {
  try {
    const { compileSchema } = await import("./compile-schema.ts")
    const fits = compileSchema(schema)
    return (value) => fits(value) || { error: describeProblems(fits.errors ?? [], place) }
  } catch (error) {
    // Else Fastify takes it for a mistake of the client.
    throw Object.assign(new Error("A schema could not be compiled", { cause: error }), { statusCode: 500 })
  }
}

type Compilers = NonNullable<NonNullable<FastifyServerOptions["schemaController"]>["compilersFactory"]>

/** For Fastify: its types for validators know only Ajv. */
export const schemaCompilers = {
  buildValidator: () => lateValidation,
  buildSerializer: () => () => (value: unknown) => JSON.stringify(value),
} as unknown as Compilers
