import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { complaintsIn } from "./prose.ts"
import { root } from "./setup.mjs"

// Checks the English of sources and pages. Case files are what users write, and `scripts/prose*.ts` names the words.

const notOurs = /(^|[\\/])(node_modules|dist|data|cases|prose[\w.]*\.ts)$/
const files = globSync(
  [
    "{README,CONTRIBUTING}.md",
    "{src,test,scripts,playground,packages,editors,bench}/**/*.{ts,tsx,mjs,md}",
    "{docs,examples}/**/*.md",
  ],
  { cwd: root, exclude: (path) => notOurs.test(path) },
)
for (const file of files.toSorted()) {
  for (const { line, text } of complaintsIn(file, readFileSync(join(root, file), "utf8"))) {
    console.error(`${file.replaceAll("\\", "/")}:${line}: ${text}`)
    process.exitCode = 1
  }
}
