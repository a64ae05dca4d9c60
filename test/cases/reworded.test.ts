import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { join } from "node:path"
import { test } from "node:test"
import type { compile as Compile } from "../../src/compile.ts"
import type { codeActions as CodeActions } from "../../src/editor/code-actions.ts"
import { readCase } from "./case-file.ts"

// Fixes and hints come from the data of diagnostics. Here every sentence is reworded where diagnostics are made, and all of them stay.

const src = join(import.meta.dirname, "../../src/")
const reworded = "?reworded"

/** The sources of `src/` once more, as modules of their own, with one change. */
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const isOurs = found.url.startsWith(`file://${src}`) && context.parentURL?.endsWith(reworded) === true
    return isOurs ? { ...found, url: `${found.url}${reworded}` } : found
  },
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith(`/source/diagnostic.ts${reworded}`)) return loaded
    const source = typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source)
    const changed = source
      .replace("visibleText(message)", "visibleText(message).toUpperCase()")
      .replace("lines.map(visibleText)", "lines.map((line) => visibleText(line).toUpperCase())")
    assert.equal(changed.match(/toUpperCase/g)?.length, 2, "diagnostic.ts makes the texts in another way")
    return { ...loaded, source: changed }
  },
})

interface Found {
  readonly diagnostics: readonly object[]
  readonly messages: readonly string[]
  readonly hints: readonly string[]
  readonly fixes: readonly object[]
}

async function compilerOf(suffix: string): Promise<(text: string) => Found> {
  const { compile } = (await import(`${src}compile.ts${suffix}`)) as { compile: typeof Compile }
  const { codeActions } = (await import(`${src}editor/code-actions.ts${suffix}`)) as { codeActions: typeof CodeActions }
  return (text) => {
    const { program, diagnostics } = compile(text)
    const actions = codeActions(program, diagnostics, { start: 0, end: text.length })
    return {
      diagnostics: diagnostics.map(({ code, path, span, severity }) => ({ code, path, span, severity })),
      messages: diagnostics.map(({ message }) => message),
      hints: diagnostics.map(({ hint = "" }) => hint),
      fixes: actions.map(({ title, edits, preferred }) => ({ title, edits, preferred })),
    }
  }
}

function* sources(): Generator<[string, string]> {
  for (const stage of ["check", "mistakes", "parse", "editor"]) {
    for (const file of readdirSync(join(import.meta.dirname, stage))) {
      const { source } = readCase(readFileSync(join(import.meta.dirname, stage, file), "utf8"))
      yield [`${stage}/${file}`, (source.split("=== followed ===\n")[0] ?? "").replaceAll("‸", "")]
    }
  }
}

test("rewording every message keeps all diagnostics, hints and fixes", async () => {
  const [plain, other] = [await compilerOf(""), await compilerOf(reworded)]
  let fixes = 0
  for (const [name, text] of sources()) {
    const [one, two] = [plain(text), other(text)]
    assert.deepEqual(
      two.messages,
      one.messages.map((message) => message.toUpperCase()),
      name,
    )
    assert.deepEqual(
      two.hints,
      one.hints.map((hint) => hint.toUpperCase()),
      name,
    )
    assert.deepEqual(two.diagnostics, one.diagnostics, name)
    assert.deepEqual(two.fixes, one.fixes, name)
    fixes += one.fixes.length
  }
  assert.ok(fixes > 700, `only ${fixes} fixes`)
})
