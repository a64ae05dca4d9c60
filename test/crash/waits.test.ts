import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "node:test"
import { checkWaitingForPayment } from "../support/waiting-for-payment.ts"

checkWaitingForPayment(
  "SQLite",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-payment-"))
    after(() => rmSync(folder, { recursive: true, force: true }))
    return { STORE: "sqlite", DATA_DIR: folder }
  },
  1,
)
