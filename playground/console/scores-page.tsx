import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { loadServerWorkflows, serverWorkflows } from "../service/served.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"
import { counted, showMoment, showNumber } from "../ui/show.ts"
import { VisibleText } from "../ui/visible-text.tsx"
import { follow } from "./navigation.tsx"
import { PageChoice } from "./page-choice.tsx"
import { addressOf, changed, goTo, place } from "./place.ts"
import { titleOf } from "./run-table.tsx"
import { scoreViews, worstFirst, type Results, type ScoreView } from "./score-views.ts"

const everyMs = 15_000
const dayMs = 86_400_000
const height = 48
/** Runs that are looked at for the worst. */
const mostRuns = 200
const keys = { version: "By version", model: "By model" } as const
const spans = { "7": "7 days", "30": "30 days", "90": "90 days" } as const

interface Choice {
  readonly by: keyof typeof keys
  readonly days: keyof typeof spans
  readonly workflow: string
}

const views = signal<readonly ScoreView[] | null>(null)
const runs = signal<readonly ListedRunAnswer[] | null>(null)
const trouble = signal<string | null>(null)

function chosen(): Choice {
  const { params } = place.value
  const days = params.get("days") ?? "30"
  return {
    by: params.get("by") === "model" ? "model" : "version",
    days: days === "7" || days === "90" ? days : "30",
    workflow: params.get("workflow") ?? "",
  }
}

let turn = 0

async function load(): Promise<void> {
  const mine = ++turn
  const { by, days, workflow } = chosen()
  const to = Date.now()
  const from = to - (Number(days) - 1) * dayMs
  const query = { from: new Date(from).toISOString(), ...(workflow !== "" && { workflow }) }
  try {
    const [byDay, byKey] = await Promise.all([
      client().scores({ ...query, by: "day" }),
      client().scores({ ...query, by }),
    ])
    const found = scoreViews(byDay.scores, byKey.scores, by, from, to)
    const hasRuns = found.some(({ name }) => name === place.peek().params.get("name"))
    const listed = hasRuns
      ? await client().runs({
          status: "completed",
          since: query.from,
          ...(workflow !== "" && { workflow }),
          limit: mostRuns,
          include: "preview",
        })
      : null
    if (mine !== turn) return
    views.value = found
    runs.value = listed?.runs ?? null
    trouble.value = null
  } catch (error) {
    if (mine !== turn) return
    trouble.value = asksForKey(error, () => void load())
      ? "An API key is needed to see scores."
      : toWireError(error).message
  }
}

/** What runs were judged by: each score over time and by version, and the runs that did worst. */
export function ScoresPage() {
  const { by, days, workflow } = chosen()
  const name = place.value.params.get("name")
  useEffect(() => void loadServerWorkflows(), [])
  useEffect(() => {
    void load()
    const timer = setInterval(() => {
      if (!document.hidden) void load()
    }, everyMs)
    return () => clearInterval(timer)
  }, [by, days, workflow, name])
  if (trouble.value !== null) {
    return (
      <div class="empty" role="alert">
        <p>{trouble.value}</p>
      </div>
    )
  }
  const list = views.value
  if (list === null) return <p class="empty">Loading …</p>
  const names = serverWorkflows.value.map((one) => one.name)
  const shown = list.find((one) => one.name === name)
  return (
    <section class="pane console-list" aria-label="Scores">
      <div class="scrolls padded">
        <div class="spending-head">
          <h2>Scores</h2>
          {names.length === 0 ? null : (
            <PageChoice
              label="Workflow"
              value={workflow}
              options={[["", "Any workflow"], ...names.map((one) => [one, one] as const)]}
              name="workflow"
            />
          )}
          <PageChoice label="Sum up by" value={by} options={Object.entries(keys)} name="by" />
          <PageChoice label="Time" value={days} options={Object.entries(spans)} name="days" />
        </div>
        {list.length === 0 ? <NoScores /> : null}
        <ul class="score-list">
          {list.map((view) => (
            <ScoreCard key={view.name} view={view} choice={{ by, days, workflow }} isShown={view === shown} />
          ))}
        </ul>
        {shown === undefined ? null : <WorstRuns view={shown} />}
      </div>
    </section>
  )
}

function NoScores() {
  return (
    <div class="empty">
      <p>
        No run was scored in this time. A workflow declares what its runs are judged by after they have completed;
        people score runs with <code>POST /execute/RUN/scores</code>.
      </p>
      <pre>
        <code>{"score short {\n    value: length(agent.reply.text) < 400\n}"}</code>
      </pre>
    </div>
  )
}

function ScoreCard({
  view,
  choice,
  isShown,
}: {
  readonly view: ScoreView
  readonly choice: Choice
  readonly isShown: boolean
}) {
  const { name, count, rows } = view
  const toggled = changed({ name: isShown ? null : name })
  const heading = choice.by === "version" ? "Version" : "Model"
  const nothing = choice.by === "version" ? "source that was sent" : "without a model"
  return (
    <li>
      <div class="budget-line">
        <h3>{name}</h3>
        <span class="note">{counted(count, "result")}</span>
      </div>
      <Chart view={view} />
      <Legend view={view} choice={choice} />
      <div class="table-scrolls">
        <table class="run-table spending-table">
          <thead>
            <tr>
              <th scope="col">{heading}</th>
              <th scope="col" class="number">
                Results
              </th>
              <th scope="col" class="number">
                {view.values.length > 0 ? "Shares" : "Mean"}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, results }) => (
              <tr key={key}>
                <td class="run-cell">
                  <span class="mono">{key ?? nothing}</span>
                </td>
                <td class="number">{showNumber(results.count)}</td>
                <td class="number">
                  <Shares view={view} results={results} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <a
        class="button outlined"
        href={addressOf("scores", toggled)}
        aria-current={isShown ? "true" : undefined}
        onClick={(event) => follow(event, () => goTo("scores", toggled))}
      >
        {isShown ? "Hide the runs" : runsOf(view)}
      </a>
    </li>
  )
}

/** What good values are is known of numbers and booleans only. */
function runsOf({ name, values, mean }: ScoreView): string {
  const isOrdered = mean !== null || values.every((value) => value === "true" || value === "false")
  return isOrdered ? `Worst runs by ${name}` : `Runs by ${name}, rarest first`
}

const percent = (share: number): string => `${Math.round(share * 100)}%`
const shownMean = (mean: number): string => String(Math.round(mean * 1000) / 1000)

/** Values keep their colour: true is good, false is not, and of others nobody knows. */
function classOf(value: string, values: readonly string[]): string {
  if (value === "true" || value === "false") return `is-${value}`
  return `is-value-${values.indexOf(value) % 5}`
}

function describe(results: Results | null, values: readonly string[]): string {
  if (results === null) return "no results"
  const { count, mean, shares } = results
  const parts = values.flatMap((value) => (shares[value] === undefined ? [] : [`${value} ${percent(shares[value])}`]))
  if (mean !== null) parts.push(`mean ${shownMean(mean)}`)
  return [counted(count, "result"), ...parts].join(", ")
}

function Chart({ view }: { readonly view: ScoreView }) {
  const { name, values, days } = view
  const tallest = Math.max(0, ...days.map(({ results }) => Math.abs(results?.mean ?? 0)))
  return (
    <svg
      class="score-chart"
      viewBox={`0 0 ${days.length * 4} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${name} by day: ${describe(view, values)}`}
    >
      {days.map(({ day, results }, index) => (
        <g key={day}>
          <title>{`${day}: ${describe(results, values)}`}</title>
          <rect class="is-ground" x={index * 4} y={0} width={4} height={height} />
          {barsOf(results, values, tallest).map(({ kind, y, tall }) => (
            <rect key={kind} class={kind} x={index * 4 + 0.4} y={y} width={3.2} height={tall} />
          ))}
        </g>
      ))}
    </svg>
  )
}

/** Shares fill the height, means are drawn against the largest. */
function barsOf(
  results: Results | null,
  values: readonly string[],
  tallest: number,
): { readonly kind: string; readonly y: number; readonly tall: number }[] {
  if (results === null) return []
  if (values.length === 0) {
    if (results.mean === null) return []
    const tall = tallest === 0 ? 1.5 : Math.max(1.5, (Math.abs(results.mean) / tallest) * (height - 2))
    return [{ kind: "is-mean", y: height - tall, tall }]
  }
  let y = height
  return values.flatMap((value) => {
    const tall = (results.shares[value] ?? 0) * (height - 2)
    y -= tall
    return tall === 0 ? [] : [{ kind: classOf(value, values), y, tall }]
  })
}

/** Each value with its share; it leads to the runs that have it. */
function Legend({ view, choice }: { readonly view: ScoreView; readonly choice: Choice }) {
  const { name, values, shares, mean } = view
  return (
    <ul class="score-values">
      {mean === null ? null : <li>mean {shownMean(mean)}</li>}
      {values.map((value) => {
        const params = new URLSearchParams({
          score: `${name}:${value}`,
          since: `${choice.days}d`,
          ...(choice.workflow !== "" && { workflow: choice.workflow }),
        })
        return (
          <li key={value}>
            <span class={`swatch ${classOf(value, values)}`} aria-hidden="true" />
            <a
              href={addressOf("runs", params)}
              aria-label={`Runs with ${name} ${value}`}
              onClick={(event) => follow(event, () => goTo("runs", params))}
            >
              {value}
            </a>{" "}
            {percent(shares[value] ?? 0)}
          </li>
        )
      })}
    </ul>
  )
}

function Shares({ view, results }: { readonly view: ScoreView; readonly results: Results }) {
  const { values } = view
  if (values.length === 0) return <>{results.mean === null ? "–" : shownMean(results.mean)}</>
  return (
    <>
      <span class="share-bar" aria-hidden="true">
        {values.map((value) => (
          <span key={value} class={classOf(value, values)} style={{ width: percent(results.shares[value] ?? 0) }} />
        ))}
      </span>
      {values.map((value) => (
        <span key={value} class="share">
          {value} {percent(results.shares[value] ?? 0)}
        </span>
      ))}
    </>
  )
}

function WorstRuns({ view }: { readonly view: ScoreView }) {
  const all = runs.value
  if (all === null) return <p class="empty">Loading …</p>
  const found = worstFirst(all, view)
  const heading = runsOf(view)
  return (
    <section aria-label={heading}>
      <div class="spending-head">
        <h2>{heading}</h2>
      </div>
      <p class="note">
        {found.length === 0 ? "None" : counted(found.length, "result")} among the newest {counted(all.length, "run")}{" "}
        that completed in this time{all.length === mostRuns ? "; others were not looked at" : ""}.
      </p>
      <div class="table-scrolls">
        <table class="run-table">
          <thead>
            <tr>
              <th scope="col" class="number">
                {view.name}
              </th>
              <th scope="col">Run</th>
              <th scope="col">Started</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, 50).map(({ run, value, why }, index) => {
              const params = new URLSearchParams({ run: run.run_id })
              return (
                <tr key={`${run.run_id} ${index}`}>
                  <td class="number">
                    <strong>{value}</strong>
                  </td>
                  <td class="run-cell">
                    <a href={addressOf("runs", params)} onClick={(event) => follow(event, () => goTo("runs", params))}>
                      {titleOf(run)}
                    </a>
                    <span class="run-line" dir="auto">
                      <VisibleText text={why === "" ? (run.input_preview ?? "") : why} />
                    </span>
                  </td>
                  <td class="plain" data-label="Started">
                    {showMoment(Date.parse(run.created_at))}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}
