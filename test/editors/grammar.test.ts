import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { before, describe, test } from "node:test"
import oniguruma from "vscode-oniguruma"
import type { IGrammar } from "vscode-textmate"
import textmate from "vscode-textmate"
import { functionNames } from "../../src/check/function-table.ts"
import { compile } from "../../src/compile.ts"
import type { SemanticToken } from "../../src/editor/semantic-tokens.ts"
import { semanticTokens } from "../../src/editor/semantic-tokens.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { readCase } from "../cases/case-file.ts"

// The TextMate grammar colours a file before the server has started. It knows no types, but on comments, strings, numbers
// and the words of the language it has to agree with the compiler.

const { resolve } = createRequire(import.meta.url)
const { loadWASM, OnigScanner, OnigString } = oniguruma
const { INITIAL, Registry } = textmate

const root = join(import.meta.dirname, "../..")

let grammar: IGrammar

before(async () => {
  await loadWASM(readFileSync(resolve("vscode-oniguruma/release/onig.wasm")))
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns: string[]) => new OnigScanner(patterns),
      createOnigString: (text: string) => new OnigString(text),
    }),
    loadGrammar: () => {
      const text = readFileSync(join(root, "editors/vscode/syntaxes/wire.tmLanguage.json"), "utf8")
      return Promise.resolve(JSON.parse(text) as never)
    },
  })
  const loaded = await registry.loadGrammar("source.wire")
  assert.ok(loaded !== null)
  grammar = loaded
})

/** The innermost scopes of every character. */
function scopesOf(text: string): string[][] {
  const scopes: string[][] = []
  let stack = INITIAL
  for (const line of text.split("\n")) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack)
    stack = ruleStack
    for (const token of tokens) {
      for (let at = token.startIndex; at < Math.min(token.endIndex, line.length); at++) scopes.push(token.scopes)
    }
    scopes.push([]) // the line break
  }
  return scopes
}

/** What the grammar must say of a token of the compiler; undefined where it may say what it likes. */
function expected({ type, modifiers }: SemanticToken, text: string): RegExp | undefined {
  switch (type) {
    case "comment":
      return modifiers.includes("documentation") ? /^comment\.line\.documentation/ : /^comment\.line/
    case "string":
      return /^(string|constant\.character\.escape|punctuation\.definition\.string)/
    case "number":
      return /^constant\.numeric/
    case "keyword":
      return text === "mcp" || text === "api" ? undefined : /^(keyword|storage|constant\.language|entity\.other)/
    case "type":
      return modifiers.includes("defaultLibrary") ? /^(support\.type|constant\.language)/ : /^entity\.name\.type/
    case "function":
      return modifiers.includes("defaultLibrary") ? /^support\.function/ : undefined
    default:
      return undefined
  }
}

function sources(): [string, string][] {
  const examples = readdirSync(join(root, "examples")).filter((file) => file.endsWith(".wire"))
  const cases = readdirSync(join(root, "test/cases/check"))
  return [
    ...examples.map((file): [string, string] => [file, readFileSync(join(root, "examples", file), "utf8")]),
    ...cases.map((file): [string, string] => {
      return [file, readCase(readFileSync(join(root, "test/cases/check", file), "utf8")).source]
    }),
  ]
}

describe("the TextMate grammar", () => {
  test("agrees with the compiler on comments, strings, numbers and keywords of valid workflows", () => {
    let tokens = 0
    const wrong: string[] = []
    for (const [file, text] of sources()) {
      const { program, diagnostics } = compile(text)
      if (diagnostics.some(isError) || text.includes("\r")) continue
      const scopes = scopesOf(text)
      for (const token of semanticTokens(program)) {
        const written = text.slice(token.start, token.end)
        const pattern = expected(token, written)
        if (pattern === undefined) continue
        tokens++
        for (let at = token.start; at < token.end; at++) {
          if (text[at] === "\n") continue
          const innermost = scopes[at]?.at(-1) ?? ""
          if (pattern.test(innermost)) continue
          const line = text.slice(0, at).split("\n").length
          wrong.push(`${file}:${line} ${JSON.stringify(written.slice(0, 40))} is a ${token.type}, but ${innermost}`)
          break
        }
      }
    }
    assert.ok(tokens > 1500, `only ${tokens} tokens`)
    assert.deepEqual(wrong.slice(0, 30), [], `${wrong.length} of ${tokens}`)
  })

  test("knows every function", () => {
    for (const name of functionNames) {
      const text = `output { a: ${name}(1) }`
      assert.equal(scopesOf(text)[text.indexOf(`${name}(`)]?.at(-1), "support.function.wire", name)
    }
  })

  test("ends an unfinished string with its line, and an interpolation with its string", () => {
    const lines = ["agent a {", '    instruction: "text {{ input.', "    max_steps: 3", "}"]
    const scopes = scopesOf(lines.join("\n"))
    const at = lines.join("\n").indexOf("3")
    assert.deepEqual(scopes[at], ["source.wire", "constant.numeric.wire"])
  })
})
