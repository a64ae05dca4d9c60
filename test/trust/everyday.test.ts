import assert from "node:assert/strict"
import { describe, test } from "node:test"

import { compile } from "../../src/compile.ts"
import { everyday } from "./everyday.ts"
import { withBackends } from "./source.ts"

/** What a file says beyond what is unused. */
function findings(source: string): string[] {
  const { diagnostics } = compile(withBackends(source))
  return diagnostics
    .filter(({ code }) => code !== "unused-declaration")
    .map(({ code, path, message, hint }) => `${code} ${path}: ${message} | ${hint}`)
}

describe("everyday workflows", () => {
  for (const { name, source, word } of everyday) {
    test(word === undefined ? name : `${name}, with one more word`, () => {
      if (word === undefined) return assert.deepEqual(findings(source), [])
      assert.ok(findings(source).some((one) => one.startsWith("untrusted-action")))
      const repaired = source.replace(word.from, word.to)
      assert.notEqual(repaired, source)
      assert.deepEqual(findings(repaired), [])
    })
  }

  test("false alarms are few", () => {
    assert.ok(everyday.length >= 40)
    const alarms = everyday.filter(({ word }) => word?.isFalseAlarm === true)
    assert.deepEqual(
      alarms.map(({ name }) => name),
      ["tidy the wiki"],
    )
  })
})
