import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { functionNames, functionRow } from "../src/check/function-table.ts"
import { functionTexts } from "../src/editor/function-texts.ts"
import { declarationTexts, propertyText } from "../src/editor/explanations.ts"
import type { DeclarationHead } from "../src/syntax/declaration-start.ts"
import { declarationWords, headOf, isSingle } from "../src/syntax/declaration-start.ts"
import { valueOfText } from "./support/evaluate-text.ts"
import { propertyTable, rowsOf, takesBlock } from "../src/syntax/property-table.ts"

// The tables of declarations, properties and functions in docs/language.md are those of the code. A comment names the table that follows it;
// `UPDATE=1 npm test -- docs-language` writes them.

const page = join(dirname(import.meta.dirname), "docs/language.md")

const heads: Readonly<Record<DeclarationHead, string>> = {
  block: "",
  name: " name",
  from: " name from …",
  import: " name from mcp.server…",
  batch: " mcp.server",
  step: " name",
  workflow: ' name from "./file.wire"',
  function: " name(…) = …",
  "file-import": ' { kind.name } from "./file.wire"',
}

function declarations(): string[] {
  const rows = declarationWords.map((word) => {
    const head = headOf(word) ?? "block"
    const form = `\`${word}${heads[head]}${head === "function" ? "" : " { … }"}\``
    return `| ${form} | ${isSingle(word) ? "one at most" : "any"} | ${cell(declarationTexts[word].text)} |`
  })
  return ["| declaration | how many | |", "|---|---|---|", ...rows]
}

function properties(place: keyof typeof propertyTable): string[] {
  const rows = [...rowsOf(place)].map(([name, { form }]) => {
    const written = takesBlock(form) && form !== "approval" ? `${name} { }` : name
    return `| \`${written}\` | ${cell(propertyText(place, name) ?? "")} |`
  })
  return ["| property | |", "|---|---|", ...rows]
}

/** With the value that each example has. */
function functions(): string[] {
  const rows = functionNames.map((name) => {
    const { forms, takes } = functionRow(name)
    const { text, example, gives } = functionTexts[name]
    const taken = takes.map(({ words }) => words).join("; ")
    const value = gives ?? `\`${JSON.stringify(valueOfText(example))}\``
    return `| ${forms.map((form) => `\`${form}\``).join(", ")} | ${taken} | ${cell(text)} | \`${example}\` is ${value} |`
  })
  return ["| function | takes | | example |", "|---|---|---|---|", ...rows]
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|")
}

function tableOf(name: string): string[] {
  if (name === "declarations") return declarations()
  if (name === "functions") return functions()
  const place = name.replace(/^properties of /, "")
  assert.ok(Object.hasOwn(propertyTable, place), `${name} is not a table`)
  return properties(place as keyof typeof propertyTable)
}

test("the tables of docs/language.md are those of the code", () => {
  const written = readFileSync(page, "utf8")
  let tables = 0
  const current = written.replace(
    /<!-- (declarations|functions|properties of [\w-]+) -->\n\n(?:\|.*\n)*/g,
    (_, name: string) => {
      tables++
      return `<!-- ${name} -->\n\n${tableOf(name).join("\n")}\n`
    },
  )
  assert.ok(tables >= 7, `${tables} tables`)
  if (process.env["UPDATE"] === "1") writeFileSync(page, current)
  else assert.equal(written, current, "run `UPDATE=1 npm test -- docs-language`")
})
