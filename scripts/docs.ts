import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { folderTable, picture } from "./docs-of-layers.ts"
import { errorTable, eventTable, questionTable, reference, routeTable } from "./docs-of-http.ts"
import { limitsOfAll } from "./docs-of-limits.ts"
import { allSettings, firstSettings } from "./docs-of-settings.ts"
import { functionNames } from "../src/check/function-table.ts"
import { stepFunctionNames } from "../src/check/step-functions.ts"
import { languageGuide } from "../src/editor/guide/language-guide.ts"
import { vimSyntax } from "./vim-syntax.ts"
import { root } from "./setup.mjs"

// `npm run docs` fills in the parts of the documentation that say what the code says: what stands between
// `<!-- npm run docs: NAME -->` and `<!-- end -->`. With `--check` it writes nothing, and fails where a page is out of date.

const pages: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "README.md": { settings: firstSettings },
  "docs/architecture.md": { layers: () => `${picture()}\n\n${folderTable()}` },
  "docs/settings.md": { settings: allSettings },
  "docs/security.md": { limits: limitsOfAll },
  "docs/http.md": {
    routes: routeTable,
    events: eventTable,
    question: questionTable,
    errors: errorTable,
    reference,
  },
}

/** Pages that are made as a whole. */
const whole: Readonly<Record<string, () => string>> = {
  "docs/llms.txt": languageGuide,
  "editors/vim/syntax/wire.vim": vimSyntax,
}

const grammar = "editors/vscode/syntaxes/wire.tmLanguage.json"

const isCheck = process.argv.includes("--check")
for (const [page, parts] of Object.entries(pages)) {
  const before = readFileSync(join(root, page), "utf8")
  put(
    page,
    before,
    Object.entries(parts).reduce((text, [name, make]) => fill(page, text, name, make()), before),
  )
}
for (const [page, make] of Object.entries(whole)) {
  put(page, existsSync(join(root, page)) ? readFileSync(join(root, page), "utf8") : "", make())
}

const before = readFileSync(join(root, grammar), "utf8")
put(
  grammar,
  before,
  before.replace(/\(\?:length\|[\w|]+\)/, () => `(?:${[...functionNames, ...stepFunctionNames].join("|")})`),
)

function put(page: string, before: string, after: string): void {
  if (after === before) return
  if (isCheck) {
    console.error(`${page} is out of date: npm run docs`)
    process.exitCode = 1
  } else {
    writeFileSync(join(root, page), after)
    console.log(`${page} is written`)
  }
}

function fill(page: string, text: string, name: string, made: string): string {
  const opening = `<!-- npm run docs: ${name} -->\n`
  const start = text.indexOf(opening)
  const end = text.indexOf("\n<!-- end -->", start)
  if (start < 0 || end < 0) throw new Error(`${page} has no place for ${name}`)
  return `${text.slice(0, start)}${opening}\n${made}\n${text.slice(end)}`
}
