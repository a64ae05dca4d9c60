import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import type { ErasureStarted, ErasureState } from "../../src/api/erasure.ts"
import { startWire, type Started } from "../cli/run-wire.ts"
import { within } from "./within.ts"

// One customer has 1,000 runs: with answers of a model, cached ones, files and idempotency keys. The service dies in the middle of erasing them and goes
// on, and nothing of what those runs have stored is anywhere any more.

/** A store that a service runs on, and how a test looks into it. */
export interface LookedInto {
  readonly environment: Readonly<Record<string, string>>
  readonly dataFolder: string
  /** How each long binary value of each table begins, in hex. */
  readonly values: () => Promise<Set<string>> | Set<string>
  /** Also looks through the bytes of the files in the data folder: free pages, logs, objects. */
  readonly searchesFiles: boolean
}

/** So much of a value is looked at: it stands together on a page. */
export const valueBytes = 48

const workflow_source = `input {
    customer: string
    text: string
    contract: maybe file = null
}

provider demo from openai {
    endpoint: "demo"
}

model small from demo {
    id: "demo"
}

agent answer when length(input.text) > 40 {
    model: model.small
    instruction: "Answer {{ input.customer }}: {{ input.text }}"

    output {
        text: string
    }
}

output {
    echo: "{{ input.customer }}: {{ input.text }}"
    text: agent.answer?.text
}
`

const runs = 1000
const customer = "customer-42"

export async function eraseThousand({ environment, dataFolder, values, searchesFiles }: LookedInto): Promise<void> {
  const auditFile = join(dataFolder, "..", "audit.jsonl")
  const start = (): Promise<Started> =>
    startWire(["serve"], {
      WIRE_PORT: "0",
      WIRE_LOG_LEVEL: "error",
      WIRE_RATE_LIMIT: "0",
      WIRE_DATA_DIR: dataFolder,
      WIRE_API_KEYS: "ann:key-of-ann-0123456789",
      WIRE_OPERATOR_KEYS: "op:key-of-op-0123456789",
      WIRE_AUDIT_FILE: auditFile,
      WIRE_ERASE_PATHS: "input.customer",
      ...environment,
    })
  let service = await start()
  const ask = (path: string, body?: object, more: Record<string, string> = {}): Promise<Response> =>
    fetch(`${service.address}${path}`, {
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      headers: { "content-type": "application/json", authorization: "Bearer key-of-op-0123456789", ...more },
    })
  const run = async (of: string, n: number): Promise<string> => {
    const long = n % 10 === 0
    const contents = Buffer.from(`contract ${n} of ${of} `.repeat(40)).toString("base64")
    const contract = n % 50 === 0 ? { contract: `data:text/plain;base64,${contents}` } : {}
    const input = {
      customer: of,
      text: `text ${n} of ${of} ${long ? "which is long enough to be answered" : ""}`,
      ...contract,
    }
    const options = long ? { cache_key: "erasing" } : {}
    const key = { authorization: "Bearer key-of-ann-0123456789", "idempotency-key": `${of}-${n}` }
    const response = await ask("/execute", { workflow_source, input, options }, key)
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return response.headers.get("x-service-run-id") ?? ""
  }
  const statusOf = async (run_id: string, path = ""): Promise<number> => {
    const response = await ask(`/execute/${run_id}${path}`)
    await response.body?.cancel()
    return response.status
  }

  const rest: string[] = []
  for (let n = 0; n < 51; n += 10) rest.push(await run("customer-43", n))
  const settled = async (): Promise<Set<string>> => {
    // What has ended is moved to where it stays a moment later.
    let known = await values()
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      const now = await values()
      if (now.size === known.size && [...now].every((value) => known.has(value))) return now
      known = now
    }
  }
  const before = await within(60_000, "a store at rest", settled())
  const gone: string[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let n = next++; n < runs; n = next++) gone.push(await run(customer, n))
    }),
  )
  const after = await within(120_000, "a store at rest", settled())
  const own = [...after].filter((value) => !before.has(value))
  assert.ok(own.length > 2 * runs, `${own.length} values of ${runs} runs`)
  const objects = objectsIn(dataFolder)
  if (searchesFiles) {
    const found = foundIn(dataFolder, own)
    assert.ok(found > own.length / 2, `the search finds ${found} of ${own.length}`)
  }

  const where = { "input.customer": customer }
  const answer = await ask("/erase", { where, dry_run: false })
  assert.equal(answer.status, 202)
  const { id } = (await answer.json()) as ErasureStarted
  const erasedSoFar = (): number => readFileSync(auditFile, "utf8").split('"act":"erased"').length - 1
  await within(
    60_000,
    "the first of them",
    untilTrue(() => erasedSoFar() > 10, 2),
  )
  service.child.kill("SIGKILL")
  await service.ended
  const done = erasedSoFar()
  assert.ok(done < runs, `${done} were erased before the service died`)

  service = await start()
  const state = async (): Promise<ErasureState> => (await (await ask(`/erase/${id}`)).json()) as ErasureState
  await within(
    120_000,
    "the erasure",
    untilTrue(async () => (await state()).status === "completed"),
  )
  const { matched, erased, open } = await state()
  assert.deepEqual([matched, erased, open], [runs, runs, []])
  for (const run_id of gone) assert.equal(await statusOf(run_id), 410)
  for (const path of ["/events", "/files", "/origins?path=output.echo"])
    assert.equal(await statusOf(gone[0] ?? "", path), 410, path)
  for (const run_id of rest) assert.equal(await statusOf(run_id), 200)

  const left = async (): Promise<number> => {
    const now = await values()
    return own.filter((value) => now.has(value)).length
  }
  await within(
    60_000,
    "no value of those runs in a table",
    untilTrue(async () => (await left()) === 0, 200),
  )
  if (searchesFiles) {
    await within(
      120_000,
      "no byte of those values in a file",
      untilTrue(() => foundIn(dataFolder, own) === 0, 500),
    )
  }
  await within(
    60_000,
    "the objects of their files",
    untilTrue(() => objectsIn(dataFolder).length < objects.length, 100),
  )
  // Of six runs of the other customer two had a file.
  assert.equal(objectsIn(dataFolder).length, 2)
  service.child.kill("SIGTERM")
  await service.ended
}

async function untilTrue(holds: () => boolean | Promise<boolean>, pauseMs = 50): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, pauseMs))
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
}

function objectsIn(folder: string): string[] {
  return filesIn(folder).filter((path) => path.includes(`${join(folder, "files")}/`))
}

/** How many of the values are in the bytes of any file. */
function foundIn(folder: string, values: readonly string[]): number {
  const sought = new Map<number, Buffer[]>()
  for (const value of values) {
    const bytes = Buffer.from(value, "hex")
    const first = bytes.readUInt32LE(0)
    const known = sought.get(first)
    if (known === undefined) sought.set(first, [bytes])
    else known.push(bytes)
  }
  const found = new Set<Buffer>()
  for (const path of filesIn(folder)) {
    const contents = readFileSync(path)
    for (let at = 0; at + valueBytes <= contents.length; at++) {
      const candidates = sought.get(contents.readUInt32LE(at))
      if (candidates === undefined) continue
      for (const one of candidates) if (contents.subarray(at, at + one.length).equals(one)) found.add(one)
    }
  }
  return found.size
}
