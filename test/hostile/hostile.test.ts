import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, it } from "node:test"
import { atStrength, isSoak } from "../support/strength.ts"
import { within } from "../support/within.ts"
import type { Hostile } from "./hostile-input.ts"
import type { Answer } from "./hostile-service.ts"
import { HostileService } from "./hostile-service.ts"
import type { Health } from "./probe-health.ts"
import { answers } from "./inputs/answers.ts"
import { askingServers } from "./inputs/asking-servers.ts"
import { bodies } from "./inputs/bodies.ts"
import { calledWorkflows } from "./inputs/called-workflows.ts"
import { computedLists } from "./inputs/computed-lists.ts"
import { connections } from "./inputs/connections.ts"
import { deliveries } from "./inputs/deliveries.ts"
import { functions } from "./inputs/functions.ts"
import { lists } from "./inputs/lists.ts"
import { models } from "./inputs/models.ts"
import { runs } from "./inputs/runs.ts"
import { servers } from "./inputs/servers.ts"
import { sources } from "./inputs/sources.ts"

// Each input of the table is sent to a service with a heap of 512 MB. Meanwhile the service answers its health check in time, and
// another caller's run completes; the attacker gets an error of the documentation. In the soak the input is sent again, the process is
// killed in the middle of it, and the next one is healthy.

/** The promise is 250 ms; machines that run tests are slower and busy with other tests. `MOST_DELAY_MS=250` holds it to the promise. */
const maxDelayMs = Number(process.env["MOST_DELAY_MS"] ?? 3000)
const maxMemoryMb = 1024
/** What blocks the service does so each time. A stall of the machine does not. */
const tries = 3

const root = dirname(dirname(import.meta.dirname))
const documented = new Set(
  [...readFileSync(join(root, "docs/http.md"), "utf8").matchAll(/^\| `(\w+)` \| \d{3} \|/gm)].map(([, kind]) => kind),
)

const groups: Readonly<Record<string, readonly Hostile[]>> = {
  "requests and headers": bodies,
  connections,
  "deliveries to webhooks": deliveries,
  sources,
  lists,
  "lists from lists": computedLists,
  "large runs": runs,
  "called workflows": calledWorkflows,
  functions,
  "model backends": models,
  "answers of tools and models": answers,
  "MCP servers": servers,
  "MCP servers that ask": askingServers,
}

for (const [group, inputs] of Object.entries(groups)) {
  describe(group, () => {
    // `npm test` takes the first of each group, one that is soon done.
    for (const input of inputs.slice(0, atStrength(1, inputs.length))) {
      it(input.name, async (t) => {
        for (let left = tries - 1; ; left--) {
          const delay = await attack(input)
          t.diagnostic(`/healthz took at most ${Math.round(delay)} ms`)
          if (delay <= maxDelayMs) return
          assert.ok(left > 0, `/healthz took ${Math.round(delay)} ms`)
        }
      })
    }
  })
}

/** The slowest answer of `/healthz`. */
async function attack(input: Hostile): Promise<number> {
  const service = new HostileService(input.settings)
  const held: (() => unknown)[] = []
  const during = (clean: () => unknown): void => void held.push(clean)
  try {
    await service.start()
    const before = await input.prepare(service, during)
    await service.otherRun()

    const watched = service.watch()
    const [answers] = await Promise.all([within(120_000, "the end of the attack", before()), service.otherRun()])
    const first = await watched()
    for (const { status, kind, text } of withoutRefused(answers)) {
      assert.ok(input.kinds.includes(kind), `${status} ${kind}: ${text.slice(0, 300)}`)
      assert.ok(kind === null || documented.has(kind), `${kind} is not documented`)
    }
    assert.ok(service.isRunning, service.output)
    assert.ok(service.maxMemory() < maxMemoryMb, `${Math.round(service.maxMemory())} MiB`)
    assertAnswered(first)
    if (!isSoak) return first.worst_ms

    const again = before().catch(() => [])
    await service.otherRun()
    await service.kill()
    await again
    await service.start()
    const watchedAgain = service.watch()
    await service.otherRun()
    const second = await watchedAgain()
    assert.ok(service.isRunning, service.output)
    assertAnswered(second)
    return Math.max(first.worst_ms, second.worst_ms)
  } finally {
    await service.close()
    for (const clean of held.toReversed()) await clean()
  }
}

/** Of many requests at once some may be refused because the caller has its share already: it depends on how fast the others end. */
function withoutRefused(answers: readonly Answer[]): readonly Answer[] {
  const others = answers.filter(({ kind }) => kind !== "rate_limited")
  return others.length === 0 ? answers : others
}

function assertAnswered({ answers, failures }: Health): void {
  assert.ok(answers > 0, "/healthz was not asked")
  assert.equal(failures, 0, `${failures} of ${answers + failures} health checks failed`)
}
