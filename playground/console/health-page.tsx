import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { apiKey, asksForKey, baseUrl, toWireError } from "../service/service.ts"
import { WireworksError } from "../../src/client/client.ts"
import { healthFacts, readMetrics, type HealthFact } from "./health-facts.ts"

const everyMs = 5_000

interface Health {
  /** What `/readyz` says: `ready`, or why it is not. */
  readonly readiness: string
  readonly isReady: boolean
  readonly facts: readonly HealthFact[]
  /** Why there are no numbers. */
  readonly trouble: string | null
}

const health = signal<Health | null>(null)
const unreachable = signal(false)

async function load(): Promise<void> {
  try {
    const ready = await fetch(`${baseUrl}/readyz`)
    const { status } = (await ready.json()) as { status: string }
    const { facts, trouble } = await numbers()
    health.value = { readiness: status, isReady: ready.ok, facts, trouble }
    unreachable.value = false
  } catch {
    unreachable.value = true
  }
}

async function numbers(): Promise<Pick<Health, "facts" | "trouble">> {
  const key = apiKey.peek()
  const answer = await fetch(
    `${baseUrl}/metrics`,
    key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } },
  )
  if (answer.ok) return { facts: healthFacts(readMetrics(await answer.text())), trouble: null }
  const error = new WireworksError(
    { kind: "unauthorized", message: "An API key is needed to see the numbers.", issues: [] },
    answer.status,
  )
  asksForKey(error, () => void load())
  return { facts: [], trouble: toWireError(error).message }
}

/** Whether the service is ready, and how much it has to do. */
export function HealthPage() {
  useEffect(() => {
    void load()
    const timer = setInterval(() => {
      if (!document.hidden) void load()
    }, everyMs)
    return () => clearInterval(timer)
  }, [])
  const now = health.value
  if (unreachable.value) {
    return (
      <div class="empty" role="alert">
        <p>The service does not answer. This page tries again every {everyMs / 1_000} seconds.</p>
      </div>
    )
  }
  if (now === null) return <p class="empty">Loading …</p>
  return (
    <section class="pane console-list" aria-label="Health">
      <div class="scrolls padded">
        <p class={now.isReady ? "health-state is-completed" : "health-state is-failed"}>
          <strong>{now.isReady ? "Ready" : `Not ready: ${now.readiness}`}</strong>
        </p>
        {now.trouble === null ? null : <p class="note">{now.trouble}</p>}
        <dl class="health-facts">
          {now.facts.map(({ name, value, state }) => (
            <div key={name} class={state === "wrong" ? "wrong" : undefined}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </div>
    </section>
  )
}
