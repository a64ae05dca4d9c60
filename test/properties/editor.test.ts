import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { fc } from "../support/fast-check.ts"
import { atStrength, cases } from "../support/strength.ts"

import { compile } from "../../src/compile.ts"
import type { Program } from "../../src/check/program.ts"
import { codeActions } from "../../src/editor/code-actions.ts"
import { complete } from "../../src/editor/complete.ts"
import { definition } from "../../src/editor/definition.ts"
import { eachName } from "../../src/editor/each-name.ts"
import type { Edit } from "../../src/editor/edit.ts"
import { applyEdits } from "../../src/editor/edit.ts"
import { folding } from "../../src/editor/folding.ts"
import { hover } from "../../src/editor/hover.ts"
import { references } from "../../src/editor/references.ts"
import { prepareRename, rename } from "../../src/editor/rename.ts"
import { semanticTokens } from "../../src/editor/semantic-tokens.ts"
import type { DocumentSymbol } from "../../src/editor/symbols.ts"
import { symbols } from "../../src/editor/symbols.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"
import { isError } from "../../src/source/diagnostic.ts"
import type { Span } from "../../src/source/span.ts"
import { readCase } from "../cases/case-file.ts"
import { wireSource } from "./wire-source.ts"

const runs = cases(150)
const path = process.env["FC_PATH"]
const parameters = {
  numRuns: runs,
  ...(path === undefined ? {} : { path }),
}

/** The examples, and the sources of the cases: every construct of the language, right and wrong. */
const sources = ["../../examples", "../cases/check", "../cases/parse", "../cases/plan"].flatMap((path) => {
  const folder = join(import.meta.dirname, path)
  const files = readdirSync(folder).filter((file) => file.endsWith(".wire"))
  return files.map((file) => readCase(readFileSync(join(folder, file), "utf8")).source)
})

describe("at any place of any source, every question has an answer", () => {
  const pieces = [
    "",
    "{",
    "}",
    '"',
    '"""',
    "{{",
    "}}",
    ".",
    "?.",
    "#",
    "match ",
    "for ",
    " in ",
    ": ",
    "[",
    "]",
    "//",
    "agent.",
  ]
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(6), fc.constantFrom(...pieces)), { maxLength: 2 })
  const offsets = fc.array(fc.nat(), { minLength: 1, maxLength: 4 })

  const damaged = (source: string, damages: readonly (readonly [number, number, string])[]): string => {
    let text = source
    for (const [at, length, insert] of damages) {
      const start = at % (text.length + 1)
      text = text.slice(0, start) + insert + text.slice(start + length)
    }
    return text
  }

  test("of the cases, whole and damaged", () => {
    fc.assert(
      fc.property(fc.constantFrom(...sources), damage, offsets, (source, damages, at) => {
        const text = damaged(source, damages)
        const { program, diagnostics } = compile(text)
        askAboutAll(program, diagnostics)
        for (const offset of at) askAbout(program, offset % (text.length + 1))
      }),
      { ...parameters, numRuns: runs * 4 },
    )
  })

  test("of random sources, whole and damaged", () => {
    fc.assert(
      fc.property(wireSource("comments"), damage, offsets, (source, damages, at) => {
        const text = damaged(source, damages)
        const { program, diagnostics } = compile(text)
        askAboutAll(program, diagnostics)
        for (const offset of at) askAbout(program, offset % (text.length + 1))
      }),
      parameters,
    )
  })

  test("of a word that is read as for, with a comment right after it", () => {
    const { program, diagnostics } = compile("agent y f//\nin a {")
    askAboutAll(program, diagnostics)
  })

  test("also beyond its ends", () => {
    for (const text of ["", "a", 'agent a { instruction: "{{ ', "\uFEFF"]) {
      const { program, diagnostics } = compile(text)
      askAboutAll(program, diagnostics)
      for (const offset of [-1, 0, text.length, text.length + 5, Number.MAX_SAFE_INTEGER]) askAbout(program, offset)
    }
  })
})

function askAbout(program: Program, offset: number): void {
  const { text } = program.tree
  const completions = complete(program, offset)
  if (completions !== undefined) {
    assertSpan(completions.span, text)
    const at = Math.max(0, Math.min(offset, text.length))
    assert.ok(completions.span.start <= at && at <= completions.span.end, "what is replaced is at the cursor")
    assert.ok(completions.items.length > 0)
    for (const { label, insert, edits = [] } of completions.items) {
      assert.ok(label !== "" && insert !== "" && !label.includes("wire_cursor_"), label)
      assertEdits([{ span: completions.span, text: insert }, ...edits], text)
    }
  }
  const hovered = hover(program, offset)
  if (hovered !== undefined) {
    assertSpan(hovered.span, text)
    assert.ok(hovered.code !== undefined || hovered.text !== undefined)
  }
  const defined = definition(program, offset)
  for (const { name, span } of defined?.targets ?? []) {
    assertSpan(span, text)
    assert.ok(span.start <= name.start && name.end <= span.end, "the name is in the declaration")
  }
  const found = references(program, offset)
  for (const [index, one] of found.entries()) {
    assertSpan(one, text)
    assert.ok((found[index - 1]?.start ?? -1) < one.start, "each once, in source order")
  }
  if (defined !== undefined) assert.ok(found.some(({ start }) => start === defined.span.start))
  const prepared = prepareRename(program, offset)
  const renamed = rename(program, offset, "zz_renamed")
  if ("problem" in prepared) assert.ok("problem" in renamed)
  else {
    assertSpan(prepared.span, text)
    if ("edits" in renamed) assertEdits(renamed.edits, text)
  }
}

function askAboutAll(program: Program, diagnostics: readonly Diagnostic[]): void {
  const { text } = program.tree
  let last = 0
  for (const token of semanticTokens(program)) {
    assertSpan(token, text)
    assert.ok(last <= token.start && token.start < token.end, "tokens in order, none over another, none empty")
    last = token.end
  }
  for (const fold of folding(program)) assertSpan(fold, text)
  const assertInside = (outer: Span, inner: readonly DocumentSymbol[]): void => {
    for (const { name, span, selection, children } of inner) {
      assert.ok(name !== "" && outer.start <= span.start && span.end <= outer.end, "each symbol in the one around it")
      assert.ok(span.start <= selection.start && selection.end <= span.end, "the name in its symbol")
      assertInside(span, children)
    }
  }
  assertInside({ start: 0, end: text.length }, symbols(program))
  for (const { edits, title } of codeActions(program, diagnostics, { start: 0, end: text.length })) {
    assert.ok(title !== "" && edits.length > 0)
    assertEdits(edits, text)
  }
}

function assertSpan({ start, end }: Span, text: string): void {
  assert.ok(0 <= start && start <= end && end <= text.length, `${start}-${end} in ${text.length}`)
}

function assertEdits(edits: readonly Edit[], text: string): void {
  let last = 0
  for (const { span } of [...edits].sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end)) {
    assertSpan(span, text)
    assert.ok(last <= span.start, "edits do not overlap")
    last = span.end
  }
}

test("every code action fixes its diagnostic, and breaks no syntax", () => {
  const fixed = new Map<string, number>()
  for (const source of sources) {
    const { program, diagnostics } = compile(source)
    const broken = diagnostics.filter(({ code }) => code === "syntax-error").length
    for (const { diagnostic, edits, title } of codeActions(program, diagnostics, { start: 0, end: source.length })) {
      const { code, span, message } = diagnostic
      // `npm test` looks at a few fixes of each kind.
      if ((fixed.get(code) ?? 0) >= atStrength(5, Infinity)) continue
      const after = compile(applyEdits(source, edits)).diagnostics
      const what = `${code} "${message}": ${title}\n${applyEdits(source, edits)}`
      assert.ok(after.filter((one) => one.code === "syntax-error").length <= broken, `new syntax error: ${what}`)
      const before = diagnostics.filter((one) => one.code === code && one.message === message).length
      const left = after.filter((one) => one.code === code && one.message === message)
      // Of several mistakes of one kind the first may be the only one that is reported: then the next one takes its place.
      const isThere = left.some((one) => one.span.start === span.start)
      assert.ok(left.length < before || !isThere, `${code} is still there at ${span.start}: ${what}`)
      fixed.set(code, (fixed.get(code) ?? 0) + 1)
    }
  }
  const codes = ["unknown-reference", "unknown-type", "unknown-property", "unknown-case", "nullable-access"]
  codes.push("array-access", "variant-access", "nullable-interpolation", "obsolete-syntax", "missing-property")
  codes.push("non-exhaustive-match", "missing-output", "unsupported-asset", "unused-declaration", "unreachable-branch")
  codes.push("hardcoded-secret", "type-mismatch", "invalid-value", "syntax-error")
  for (const code of codes) assert.ok((fixed.get(code) ?? 0) > 0, `nothing fixes ${code}`)
})

describe("renaming", () => {
  const valid = sources.filter((source) => !compile(source).diagnostics.some(isError))

  test("gives the same plan up to the name, wherever it is not refused", () => {
    let renamings = 0
    for (const source of valid.filter((_, index) => index % atStrength(24, 1) === 0)) {
      const { program, plan, diagnostics } = compile(source)
      const starts: number[] = []
      eachName(program, (use) => starts.push(use.start))
      const done = new Set<string>()
      for (const start of starts) {
        const renamed = rename(program, start, "zz_renamed")
        if ("problem" in renamed) continue
        const key = JSON.stringify(renamed.edits)
        if (done.has(key)) continue
        done.add(key)
        renamings++
        const prepared = prepareRename(program, start)
        assert.ok("name" in prepared)
        const after = compile(applyEdits(source, renamed.edits))
        assert.deepEqual(codesOf(after.diagnostics), codesOf(diagnostics))
        const now = withoutTexts(after.plan).replaceAll("zz_renamed", prepared.name)
        const then = withoutTexts(plan)
        let differ = 0
        while (differ < then.length && now[differ] === then[differ]) differ++
        const where = `…${now.slice(differ - 60, differ + 60)}… instead of …${then.slice(differ - 60, differ + 60)}…`
        assert.ok(now === then, `${prepared.name} at ${start} of\n${source}\n${where}`)
      }
    }
    assert.ok(renamings > cases(500), `only ${renamings} renamings`)
  })
})

/** Without the warning about text in single braces: it depends on names that such text happens to contain, which no rename changes. */
function codesOf(diagnostics: readonly { readonly code: string }[]): string[] {
  return diagnostics.map(({ code }) => code).filter((code) => code !== "suspicious-braces")
}

/** The plan, without how its expressions are written, and without the hashes of functions: names of fields are a part of what they do. */
function withoutTexts(plan: unknown): string {
  const has = (value: unknown, key: string): boolean => typeof value === "object" && value !== null && key in value
  return JSON.stringify(plan, function (this: unknown, key, inner: unknown) {
    if (key === "version" && (has(this, "op") || has(this, "parameters"))) return undefined
    return key === "text" && has(this, "op") ? undefined : inner
  })
}
