import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { compile } from "../../src/compile.ts"
import { head, holes } from "./holes.ts"

describe("programs that fooled the checker once are refused", () => {
  for (const [cause, programs] of Object.entries(holes)) {
    describe(cause, () => {
      for (const [index, { source, modules = {}, codes = ["untrusted-action"] }] of programs.entries()) {
        test(`program ${index + 1}`, () => {
          const files = Object.fromEntries(
            Object.entries(modules).map(([path, text]) => [path, text.startsWith("+") ? head + text.slice(1) : text]),
          )
          const { diagnostics } = compile(`${head}${source}`, { modules: files })
          const errors = diagnostics.filter(({ severity }) => severity === "error")
          const found = [...new Set(errors.map(({ code }) => code))]
          const told = errors.map(({ code, path, message }) => `${code} ${path}: ${message}`).join("\n")
          assert.deepEqual(found, codes, `${told}\n${source}`)
        })
      }
    })
  }
})
