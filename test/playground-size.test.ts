import assert from "node:assert/strict"
import { readFileSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { test } from "node:test"
import { builtWire } from "./support/built-wire.ts"

const folder = join(dirname(builtWire), "playground")

/** What a first visit loads before it shows anything, compressed. What is not needed at first comes later, by `later`. */
const maxBytes = 384_500

test("the page is small, and names every script that it needs at first", () => {
  const page = readFileSync(join(folder, "index.html"), "utf8")
  const named = [...page.matchAll(/(?:src|href)="playground\/([^"]+)"/g)].map(([, name = ""]) => name)
  const scripts = named.filter((name) => name.endsWith(".js"))
  const imported = scripts.flatMap((name) => {
    const text = readFileSync(join(folder, name), "utf8")
    return [...text.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)].map(([, path = ""]) => basename(path))
  })
  assert.deepEqual(
    [...new Set(imported)].filter((name) => !scripts.includes(name)),
    [],
  )
  const bytes = ["index.html", ...named].reduce((sum, name) => sum + statSync(join(folder, `${name}.br`)).size, 0)
  assert.ok(bytes > 100_000, `${bytes} bytes are not the whole page`)
  assert.ok(bytes <= maxBytes, `${bytes} bytes`)
})
