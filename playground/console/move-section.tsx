import { signal } from "@preact/signals"
import type { MovedRun } from "../../src/client/client.ts"
import { notify } from "../page/notices.ts"
import { client } from "../service/service.ts"
import { counted } from "../ui/show.ts"
import { attempt } from "./attempt.ts"
import { RunLink } from "./run-link.tsx"

/** What a move does, or would do, to the runs of one version that wait. */
export interface Moving {
  readonly name: string
  readonly from: string
  readonly to: string
  readonly dry: boolean
  readonly runs: readonly MovedRun[]
}

export const moving = signal<Moving | null>(null)

const shownOutcomes: Readonly<Record<MovedRun["outcome"], string>> = {
  moves: "moves",
  moves_and_asks_again: "moves, asks again",
  stays: "stays",
}

/** All pages of a move. `after`: done once the runs have moved. */
export async function move(
  about: Pick<Moving, "name" | "from" | "to" | "dry">,
  moved: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const { name, from, to, dry } = about
  await attempt(
    async () => {
      const runs: MovedRun[] = []
      let after: string | null = null
      do {
        const page = await client().moveRuns(name, { from, to, dry_run: dry, after })
        runs.push(...page.runs)
        after = page.next
      } while (after !== null)
      moving.value = { ...about, runs }
      if (dry) return
      notify(`${counted(movable(runs), "run")} moved to version ${to}`)
      await moved()
    },
    () => void move(about, moved),
  )
}

function movable(runs: readonly MovedRun[]): number {
  return runs.filter(({ outcome }) => outcome !== "stays").length
}

/** The table of a dry run, from which the move is made, or of the move itself. */
export function MoveSection({ moved }: { readonly moved: () => Promise<unknown> }) {
  const found = moving.value
  if (found === null) return null
  const { name, from, to, dry, runs } = found
  const count = movable(runs)
  return (
    <section aria-label={`Moving runs from version ${from}`} class="version-change">
      <p>
        <strong>
          Runs that wait: from {from} to {to}
        </strong>{" "}
        <span class="note">{dry ? "nothing has moved yet" : "this is what became of them"}</span>
      </p>
      {runs.length === 0 ? (
        <p>No run of this version waits.</p>
      ) : (
        <table class="run-table">
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col">{dry ? "Would" : "Outcome"}</th>
              <th scope="col">Because</th>
            </tr>
          </thead>
          <tbody>
            {runs.map(({ run_id, outcome, because }) => (
              <tr key={run_id}>
                <td class="plain mono">
                  <RunLink workflow={name} run_id={run_id} />
                </td>
                <td class="plain" data-label={dry ? "Would" : "Outcome"}>
                  {shownOutcomes[outcome]}
                </td>
                <td class="plain" data-label="Because">
                  {because.join("; ")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p>
        {dry && count > 0 ? (
          <button type="button" class="button primary" onClick={() => void move({ name, from, to, dry: false }, moved)}>
            Move {counted(count, "run")}
          </button>
        ) : null}{" "}
        <button type="button" class="button outlined" onClick={() => (moving.value = null)}>
          Close the table
        </button>
      </p>
    </section>
  )
}
