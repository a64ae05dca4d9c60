import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import type * as Sources from "../../src/client/client.ts"
import { builtWire } from "./built-wire.ts"

// The client as users import it.

export const { createClient, LocalFile, RunWaiting, WireworksClient, WireworksError } = (await import(
  pathToFileURL(join(dirname(builtWire), "client.js")).href
)) as typeof Sources

export type WireworksClient = Sources.WireworksClient
