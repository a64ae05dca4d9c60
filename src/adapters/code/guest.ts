/**
 * What runs in the sandbox before any code file, in its strict mode. It is for the code's convenience: what the code does to it, it does to
 * itself, and the host takes nothing from it but texts. Its value is `[call, describe, exports]`.
 */
export const guest = String.raw`"use strict";
(() => {
  const { parse, stringify } = JSON
  const { apply, getPrototypeOf, ownKeys } = Reflect
  const { imul } = Math
  const { charCodeAt, slice, split, indexOf } = String.prototype
  const text = String
  const isPrototypeOf = Object.prototype.isPrototypeOf
  const promises = Promise.prototype
  const generators = getPrototypeOf(function* () {}).prototype
  const asyncGenerators = getPrototypeOf(async function* () {}).prototype
  const asyncs = getPrototypeOf(async () => {})
  const generating = [getPrototypeOf(function* () {}), getPrototypeOf(async function* () {})]
  delete globalThis.queueMicrotask
  delete globalThis.InternalError

  // sfc32
  let a = 0, b = 0, c = 0, d = 1
  const next = () => {
    const t = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + t | 0
    return (t >>> 0) / 4294967296
  }
  const seeded = (seed) => {
    a = 0x9e3779b9, b = 0x243f6a88, c = 0xb7e15162, d = 1
    for (let at = 0; at < seed.length; at++) {
      a = imul(a ^ apply(charCodeAt, seed, [at]), 0x01000193)
      next()
    }
    for (let at = 0; at < 12; at++) next()
  }
  Math.random = function random() {
    return next()
  }

  let logs = ""
  const show = (value) => {
    if (typeof value === "string") return value
    try {
      const json = stringify(value)
      if (json !== undefined) return json
    } catch (failed) {
      return text(failed)
    }
    return text(value)
  }
  const log = (...values) => {
    if (logs.length > 16384) return
    let line = ""
    for (let at = 0; at < values.length; at++) line += (at === 0 ? "" : " ") + show(values[at])
    logs = apply(slice, logs + line + "\n", [0, 16385])
  }
  globalThis.console = { log, info: log, warn: log, error: log, debug: log }

  const taken = () => {
    const found = logs
    logs = ""
    return found
  }

  // The kind of the answer is its first letter: V a value, L too large, E no JSON value.
  const call = (called, args, seed, most) => {
    seeded(seed)
    const value = apply(called, undefined, parse(args))
    if (typeof value === "object" && value !== null) {
      if (apply(isPrototypeOf, promises, [value])) return "EIt returned a promise"
      if (apply(isPrototypeOf, generators, [value]) || apply(isPrototypeOf, asyncGenerators, [value])) return "EIt returned a generator"
    }
    const made = stringify(value)
    if (typeof made !== "string") return "EIt returned " + (value === undefined ? "nothing" : "a " + typeof value) + ", which is not a JSON value"
    return made.length > most ? "L" : "V" + made
  }

  const describe = (error) => {
    let message = "", stack = ""
    try {
      if (typeof error === "object" && error !== null) {
        const name = error.name
        message = text(error.message)
        if (typeof name === "string" && name !== "" && name !== "Error") message = name + (message === "" ? "" : ": " + message)
        stack = text(error.stack)
      } else message = text(error)
    } catch (failed) {
      message = "It threw what cannot be shown: reading it throws a " + typeof failed
    }
    return stringify([apply(slice, message, [0, 1000]), apply(slice, stack, [0, 10000])])
  }

  const kindOf = (value) => {
    if (typeof value !== "function") return "value"
    const kind = getPrototypeOf(value)
    return kind === asyncs ? "async" : kind === generating[0] || kind === generating[1] ? "generator" : "function"
  }
  const exported = (module) => {
    const names = ownKeys(module)
    const found = []
    for (let at = 0; at < names.length; at++) {
      if (typeof names[at] === "string") found[found.length] = [names[at], kindOf(module[names[at]])]
    }
    return stringify(found)
  }
  return [call, describe, exported, taken]
})()
`
