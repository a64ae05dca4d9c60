import { Buffer } from "node:buffer"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { eraseThousand, valueBytes } from "../../support/erase-thousand.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-erase-thousand-"))
after(() => rmSync(folder, { recursive: true, force: true }))

test("SQLite: the 1,000 runs of a customer leave no byte in any file, though the service dies while it erases them", async () => {
  const dataFolder = join(folder, "data")
  mkdirSync(dataFolder)
  const values = (): Set<string> => {
    const database = new DatabaseSync(join(dataFolder, "wireworks.db"), { readOnly: true })
    try {
      const found = new Set<string>()
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
      for (const { name } of tables) {
        const columns = database.prepare(`PRAGMA table_info("${String(name)}")`).all()
        for (const { name: column, type } of columns) {
          if (type !== "BLOB") continue
          const rows = database
            .prepare(`SELECT DISTINCT substr("${String(column)}", 1, ${valueBytes}) AS value FROM "${String(name)}"`)
            .all()
          for (const { value } of rows) {
            const bytes = value as Buffer | null
            if (bytes !== null && bytes.length >= 32) found.add(Buffer.from(bytes).toString("hex"))
          }
        }
      }
      return found
    } finally {
      database.close()
    }
  }
  await eraseThousand({ environment: { WIRE_STORE: "sqlite" }, dataFolder, values, searchesFiles: true })
})
