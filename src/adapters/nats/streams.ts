import { JetStreamApiError, type JetStreamManager, type StreamConfig } from "@nats-io/jetstream"
import { StoreFailure } from "../../ports/store.ts"
import { reasonOf } from "./broker-error.ts"
import type { Names, StreamName } from "./names.ts"

export interface StreamSizes {
  /** Copies of every message; null: as many as there are nodes, at most 3. */
  readonly replicas: number | null
  /** Most bytes of runs, and of cached answers; 0 means no limit. */
  readonly max_bytes: number
  readonly cacheBytes: number
  readonly cacheAgeMs: number
  readonly tombstoneMs: number
}

/** Facts about the broker's nodes. */
export interface Nodes {
  readonly clustered: boolean
  /** How many the address names. */
  readonly named: number
}

export type Wanted = Partial<StreamConfig> & { readonly name: string }

const nanos = (ms: number): number => ms * 1_000_000
const noLimit = -1
/** What a process that died leaves of its leases. */
const aliveMs = 10 * 60_000
const nameInUse = 10_058
const patienceMs = 30_000

export function wantedStreams(names: Names, sizes: StreamSizes, replicas: number): Wanted[] {
  const { prefix } = names
  const make = (name: StreamName, more: Partial<StreamConfig>): Wanted => ({
    name: names.stream(name),
    subjects: [`${prefix}.${name}.>`],
    retention: "limits",
    storage: "file",
    num_replicas: replicas,
    allow_direct: true,
    max_msgs_per_subject: 1,
    discard: "old",
    max_age: 0,
    max_bytes: noLimit,
    ...more,
  })
  return [
    make("rows", {
      // A full stream is an error for the writer, never a silent loss of old runs.
      discard: "new",
      // The messages of a run are its log. Rows of which only the newest counts are rolled up.
      max_msgs_per_subject: noLimit,
      allow_rollup_hdrs: true,
      max_bytes: sizes.max_bytes === 0 ? noLimit : sizes.max_bytes,
      allow_atomic: true,
      allow_msg_ttl: true,
      republish: { src: `${prefix}.rows.>`, dest: `${prefix}.live.>` },
    }),
    make("cache", {
      max_age: nanos(sizes.cacheAgeMs),
      max_bytes: sizes.cacheBytes === 0 ? noLimit : sizes.cacheBytes,
    }),
    make("alive", { max_age: nanos(aliveMs) }),
  ]
}

/**
 * Makes the streams that are not there. Those that are there stay as they are: where that would break a promise it is a
 * `StoreFailure`, where it is a matter of size it is a sentence for the operator.
 */
export async function ensureStreams(
  manager: JetStreamManager,
  names: Names,
  sizes: StreamSizes,
  nodes: Nodes,
): Promise<readonly string[]> {
  let replicas = sizes.replicas ?? (nodes.clustered ? 3 : 1)
  // A cluster that was named with fewer nodes may have no more; one that was named with three is waited for.
  const least = sizes.replicas ?? Math.min(replicas, nodes.named)
  const remarks: string[] = []
  for (const wanted of wantedStreams(names, sizes, replicas)) {
    const existing = await patiently(() => infoOf(manager, wanted.name))
    if (existing === null) {
      const made = await makeStream(manager, wanted, replicas, least)
      if (made > 0) {
        replicas = made
        continue
      }
    }
    const found = existing ?? (await infoOf(manager, wanted.name))
    if (found === null) throw new StoreFailure(`The stream ${wanted.name} was deleted while the service started`)
    const { broken, different } = compare(wanted, found)
    if (broken.length > 0) {
      throw new StoreFailure(
        `The stream ${wanted.name} exists, but its settings do not suit Wireworks (${broken.join("; ")}). Nothing was changed: ` +
          `correct it with "nats stream edit", or set WIRE_NATS_PREFIX to a prefix of its own.`,
      )
    }
    for (const difference of different) {
      remarks.push(
        `The stream ${wanted.name} exists with ${difference}. It stays as it is; change it with "nats stream edit".`,
      )
    }
  }
  return remarks
}

/** With how many copies it was made; 0 when another process was faster, maybe with other settings. */
async function makeStream(manager: JetStreamManager, wanted: Wanted, most: number, least: number): Promise<number> {
  for (let copies = most; ; copies--) {
    try {
      await patiently(() => manager.streams.add({ ...wanted, num_replicas: copies }))
      return copies
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === nameInUse) return 0
      if (!isTooFewNodes(error) || copies <= least) throw whyNotMade({ ...wanted, num_replicas: copies }, error)
    }
  }
}

/** A broker that has just started has no leader yet, or not all of its nodes. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const later = isTooFewNodes(error) || !(error instanceof JetStreamApiError) || error.status >= 500
      const final = error instanceof JetStreamApiError && error.code === nameInUse
      if (!later || final || performance.now() > deadline) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

function isTooFewNodes(error: unknown): boolean {
  return error instanceof JetStreamApiError && /peers|non-clustered/.test(error.message)
}

/** Null: the broker has no such stream. */
export async function infoOf(manager: JetStreamManager, name: string): Promise<Partial<StreamConfig> | null> {
  try {
    return (await manager.streams.info(name)).config
  } catch (error) {
    if (error instanceof JetStreamApiError && error.status === 404) return null
    throw error
  }
}

export function compare(
  wanted: Partial<StreamConfig>,
  found: Partial<StreamConfig>,
): { readonly broken: string[]; readonly different: string[] } {
  const say = (value: unknown): string => (value === undefined ? "unset" : JSON.stringify(value))
  const unlike = (fields: readonly (keyof StreamConfig)[]): string[] =>
    fields.flatMap((field) => {
      const [is, should] = [normal(field, found[field]), normal(field, wanted[field])]
      return say(is) === say(should) ? [] : [`${field} is ${say(is)}, the settings say ${say(should)}`]
    })
  return {
    broken: unlike([
      "subjects",
      "retention",
      "discard",
      "max_msgs_per_subject",
      "allow_direct",
      "allow_atomic",
      "allow_msg_ttl",
      "allow_rollup_hdrs",
      "republish",
    ]),
    different: unlike(["num_replicas", "storage", "max_age", "max_bytes"]),
  }
}

/** Servers differ in how they report a missing stream. */
function normal(field: keyof StreamConfig, value: unknown): unknown {
  if (field === "max_msgs_per_subject" || field === "max_bytes") {
    return typeof value === "number" && value > 0 ? value : noLimit
  }
  if (field === "allow_atomic" || field === "allow_msg_ttl" || field === "allow_rollup_hdrs") return value === true
  if (field === "republish" && typeof value === "object" && value !== null) {
    const { src, dest } = value as { src?: string; dest?: string }
    return { src, dest }
  }
  return field === "max_age" ? (value ?? 0) : value
}

function whyNotMade({ name, num_replicas }: Wanted, error: unknown): StoreFailure {
  return new StoreFailure(
    `The stream ${name} cannot be made with ${num_replicas} ${num_replicas === 1 ? "copy" : "copies"} (${reasonOf(error)}). ` +
      "JetStream must be enabled with room for it, and the user must be allowed to make streams.",
    error,
  )
}
