import { Buffer } from "node:buffer"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { eraseThousand, valueBytes } from "../support/erase-thousand.ts"
import { startPostgres } from "../support/postgres-server.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-erase-postgres-"))
after(() => rmSync(folder, { recursive: true, force: true }))

test("PostgreSQL: the 1,000 runs of a customer leave no value in any table, though the service dies while it erases them", async () => {
  const server = await startPostgres({ config: ["fsync=off"] })
  after(() => server.close())
  const dataFolder = join(folder, "data")
  mkdirSync(dataFolder)
  const values = async (): Promise<Set<string>> => {
    const found = new Set<string>()
    const columns = await server.query(
      "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'wire' AND data_type = 'bytea'",
    )
    for (const { table_name, column_name } of columns) {
      const rows = await server.query(
        `SELECT DISTINCT encode(substr("${String(column_name)}", 1, ${valueBytes}), 'hex') AS value FROM wire."${String(table_name)}" WHERE length("${String(column_name)}") >= 32`,
      )
      for (const { value } of rows) found.add(String(value))
    }
    return found
  }
  const environment = {
    WIRE_STORE: server.url(),
    WIRE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
    WIRE_FILES: join(dataFolder, "files"),
  }
  await eraseThousand({ environment, dataFolder, values, searchesFiles: false })
})
