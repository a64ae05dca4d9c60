import assert from "node:assert/strict"
import { readFileSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { test } from "node:test"
import { builtWire } from "./support/built-wire.ts"

const folder = join(dirname(builtWire), "playground")

/** What a first visit loads before it shows anything, compressed. What is not needed at first comes later, by `later`. */
const maxBytes = 384_000

/** The same for the console, without graph and forms, which are loaded when a run or a question is opened. */
const maxConsoleBytes = 160_000

const pages = [
  { file: "index.html", least: 100_000, most: maxBytes },
  { file: "console.html", least: 20_000, most: maxConsoleBytes },
]

for (const { file, least, most } of pages) {
  test(`${file} is small, and names every script that it needs at first`, () => {
    const page = readFileSync(join(folder, file), "utf8")
    const named = [...page.matchAll(/(?:src|href)="(?:\.\.\/)?playground\/([^"]+)"/g)].map(([, name = ""]) => name)
    const scripts = named.filter((name) => name.endsWith(".js"))
    const imported = scripts.flatMap((name) => {
      const text = readFileSync(join(folder, name), "utf8")
      return [...text.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)].map(([, path = ""]) => basename(path))
    })
    assert.deepEqual(
      [...new Set(imported)].filter((name) => !scripts.includes(name)),
      [],
    )
    const bytes = [file, ...named].reduce((sum, name) => sum + statSync(join(folder, `${name}.br`)).size, 0)
    assert.ok(bytes > least, `${bytes} bytes are not the whole page`)
    assert.ok(bytes <= most, `${bytes} bytes`)
  })
}
