import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { checkWrongClock } from "../support/wrong-clock.ts"

checkWrongClock("SQLite", async () => {
  const data = mkdtempSync(join(tmpdir(), "wireworks-data-"))
  return {
    env: { WIRE_STORE: "sqlite", WIRE_DATA_DIR: data },
    close: async () => rmSync(data, { recursive: true, force: true }),
  }
})
