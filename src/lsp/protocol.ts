import { RpcError } from "./rpc-error.ts"

// The shapes of the Language Server Protocol that come in, and how they are read: what a client sends is not trusted.

export interface Position {
  readonly line: number
  readonly character: number
}

export interface Range {
  readonly start: Position
  readonly end: Position
}

export type JsonObject = Readonly<Record<string, unknown>>

export function objectIn(value: unknown, name: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject
  throw new RpcError("invalidParams", `${name} is not an object`)
}

export function stringIn(object: JsonObject, name: string): string {
  const value = object[name]
  if (typeof value === "string") return value
  throw new RpcError("invalidParams", `${name} is not a string`)
}

export function integerIn(object: JsonObject, name: string): number {
  const value = object[name]
  if (typeof value === "number" && Number.isInteger(value)) return value
  throw new RpcError("invalidParams", `${name} is not a whole number`)
}

export function positionIn(value: unknown): Position {
  const position = objectIn(value, "position")
  const line = integerIn(position, "line")
  const character = integerIn(position, "character")
  if (line < 0 || character < 0) throw new RpcError("invalidParams", "A position counts from 0")
  return { line, character }
}

export function rangeIn(value: unknown): Range {
  const range = objectIn(value, "range")
  return { start: positionIn(range["start"]), end: positionIn(range["end"]) }
}

export function uriIn(params: JsonObject): string {
  return stringIn(objectIn(params["textDocument"], "textDocument"), "uri")
}

/** The value at a path of keys; undefined where one of them is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined
    current = (current as JsonObject)[key]
  }
  return current
}
