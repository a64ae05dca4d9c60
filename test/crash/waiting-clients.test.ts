import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "node:test"
import { checkWaitingClients } from "../support/waiting-clients.ts"

checkWaitingClients("SQLite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-waiting-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return { STORE: "sqlite", DATA_DIR: folder }
})
