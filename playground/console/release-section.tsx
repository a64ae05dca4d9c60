import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { ReleaseAnswer } from "../../src/client/client.ts"
import { client } from "../service/service.ts"
import { costNumber, counted, showDuration, showNumber } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { attempt } from "./attempt.ts"
import { RunLink } from "./run-link.tsx"
import { changedLines, TextChange, type TextLine } from "./text-change.tsx"

const release = signal<ReleaseAnswer | null>(null)
/** The outputs of one disagreement, by its shadow. */
const shown = signal<{ readonly shadow: string; readonly lines: readonly TextLine[] } | null>(null)

type Figures = ReleaseAnswer["current"]

const everyMs = 5_000

async function load(name: string): Promise<void> {
  await attempt(
    async () => (release.value = await client().release(name)),
    () => void load(name),
  )
}

async function act(name: string, action: "stop" | "resume"): Promise<void> {
  await attempt(
    async () => (release.value = await client().release(name, { action })),
    () => void act(name, action),
  )
}

async function compare(run_id: string, shadow: string): Promise<void> {
  await attempt(
    async () => {
      const runs = await Promise.all([client().run(run_id), client().run(shadow)])
      const [before = [], after = []] = runs.map(({ output }) => JSON.stringify(output, null, 2).split("\n"))
      shown.value = { shadow, lines: changedLines(before, after) }
    },
    () => void compare(run_id, shadow),
  )
}

/** The current version and its candidate side by side, how the traffic is shared, and where shadows disagree. */
export function ReleaseSection({ name }: { readonly name: string }) {
  useEffect(() => {
    release.value = null
    shown.value = null
    void load(name)
    const timer = setInterval(() => {
      if (!document.hidden) void load(name)
    }, everyMs)
    return () => clearInterval(timer)
  }, [name])
  const found = release.value
  if (found === null) return null
  const { state, share, issues } = found
  const candidate = state === "running" ? Math.round(share * 100) : 0
  return (
    <section aria-label={`Release of ${name}`} class="version-change">
      <p class="release-head">
        <strong>Candidate {found.version ?? ""}</strong>
        <StateMark
          state={state === "running" ? "completed" : "failed"}
          text={
            state === "running" ? "gets traffic" : state === "stopped" ? "stopped" : "incompatible, gets no traffic"
          }
        />
        {state === "incompatible" ? null : (
          <button
            type="button"
            class="button outlined"
            onClick={() => void act(name, state === "running" ? "stop" : "resume")}
          >
            {state === "running" ? "Stop the candidate" : "Let it go on"}
          </button>
        )}
      </p>
      {issues.map(({ message }) => (
        <p key={message} class="wrong-text">
          {message}
        </p>
      ))}
      <div class="traffic" role="img" aria-label={`Traffic: current ${100 - candidate} %, candidate ${candidate} %`}>
        <span class="traffic-current" style={{ flexGrow: 100 - candidate }}>
          {candidate === 100 ? "" : `current ${100 - candidate} %`}
        </span>
        {candidate === 0 ? null : <span class="traffic-candidate" style={{ flexGrow: candidate }} />}
      </div>
      <p class="note">candidate {candidate} %</p>
      <Sides {...found} />
      <Disagreements name={name} {...found} />
    </section>
  )
}

function Sides({ current, candidate, agreement, shadows, shadow }: ReleaseAnswer) {
  const rows: readonly (readonly [string, (figures: Figures) => string])[] = [
    ["Runs", ({ runs }) => showNumber(runs)],
    ["Failed", ({ failed }) => percent(failed)],
    ["Cost of a run", ({ cost }) => (cost === null ? "–" : costNumber(cost))],
    ["Time of a run", ({ seconds }) => (seconds === null ? "–" : showDuration(seconds * 1000))],
    ["Tokens of a run", ({ tokens }) => (tokens === null ? "–" : showNumber(tokens))],
  ]
  return (
    <>
      <table class="sides">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">What</span>
            </th>
            <th scope="col">Current</th>
            <th scope="col">Candidate</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([label, show]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{show(current)}</td>
              <td>{show(candidate)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shadow === 0 && shadows.compared + shadows.inconclusive === 0 ? null : (
        <p>
          Shadows:{" "}
          {agreement === null ? "none compared yet" : `${percent(agreement)} of ${showNumber(shadows.compared)} agree`},{" "}
          {showNumber(shadows.inconclusive)} inconclusive, {counted(candidate.skipped_effects, "call")} not made
        </p>
      )}
    </>
  )
}

function Disagreements({ name, disagreements }: ReleaseAnswer & { readonly name: string }) {
  if (disagreements.length === 0) return null
  return (
    <>
      <p>
        <strong>Disagreements</strong>
      </p>
      <ul class="disagreements">
        {disagreements.map(({ run_id, shadow_run_id, paths }) => (
          <li key={shadow_run_id}>
            <code>{paths.join(", ")}</code>{" "}
            <RunLink workflow={name} run_id={run_id} label={`run ${run_id.slice(0, 6)}`} />{" "}
            <RunLink
              workflow={name}
              run_id={shadow_run_id}
              label={`shadow ${shadow_run_id.slice(0, 6)}`}
              release="shadow"
            />{" "}
            <button
              type="button"
              class="button outlined"
              aria-label={`Compare outputs of run ${run_id.slice(0, 6)} and its shadow`}
              aria-expanded={shown.value?.shadow === shadow_run_id}
              onClick={() => {
                if (shown.value?.shadow === shadow_run_id) shown.value = null
                else void compare(run_id, shadow_run_id)
              }}
            >
              Compare outputs
            </button>
            {shown.value?.shadow === shadow_run_id ? (
              <TextChange label="The outputs as text" lines={shown.value.lines} />
            ) : null}
          </li>
        ))}
      </ul>
    </>
  )
}

function percent(share: number | null): string {
  return share === null ? "–" : `${(share * 100).toFixed(1).replace(/\.0$/, "")} %`
}
