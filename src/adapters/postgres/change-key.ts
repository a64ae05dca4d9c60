import { StoreFailure } from "../../ports/store.ts"
import type { KeyChange } from "../../ports/vault.ts"
import { changeKey } from "../../store/key-record.ts"
import { runStepsLater } from "../../store/sql.ts"
import type { ServerTarget } from "./connection.ts"
import { openAlone } from "./open-alone.ts"
import { formatOf, otherKey, refuseOtherFormats } from "./schema.ts"

/** Puts the keys of a store that no service has open under another master key. Rejects with a `StoreFailure`. */
export function changePostgresKey(target: ServerTarget, change: KeyChange): Promise<"changed" | "changed before"> {
  return openAlone(target, "change of the key", async (connection, where) => {
    refuseOtherFormats(where, target.schema, await formatOf(connection, target.schema))
    await connection.query("BEGIN")
    const outcome = await runStepsLater(changeKey(change), (statement) => connection.execute(statement))
    if (outcome === null) throw new StoreFailure(otherKey(where))
    await connection.query("COMMIT")
    // The row before is still in the table's file, and with it, the old key would open the store. This writes a new file.
    await connection.query("VACUUM FULL store")
    await connection.close()
    return outcome
  })
}
