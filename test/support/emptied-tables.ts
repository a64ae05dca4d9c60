import { tableRules } from "../../src/store/left-behind.ts"

/** The tables that a test empties. The keys of the store stay, and the places that keys of secrets are put into. */
export const emptiedTables: readonly string[] = tableRules
  .map(({ table }) => table)
  .filter((table) => table !== "store" && table !== "secret_keys")
