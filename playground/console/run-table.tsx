import { useRef } from "preact/hooks"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { showMoment } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { VisibleText } from "../ui/visible-text.tsx"
import { columns, shownColumns } from "./columns.ts"
import { follow } from "./navigation.tsx"
import { addressOf, changed, goTo, place } from "./place.ts"
import { selected, toggleSelected } from "./run-list.ts"
import { runMarks } from "./run-marks.ts"

/** The workflow's name, or the first steps of a source that was sent. */
export function titleOf({ workflow, preview }: ListedRunAnswer): string {
  const steps = preview?.steps ?? []
  return workflow ?? (steps.length === 0 ? "source without steps" : steps.join(", "))
}

/** One line a run. Arrows move between rows, Enter opens one, the space bar selects it. */
export function RunTable({ runs }: { readonly runs: readonly ListedRunAnswer[] }) {
  const body = useRef<HTMLTableSectionElement>(null)
  const shown = columns.filter(({ name }) => shownColumns.value.includes(name))
  const current = place.value.params.get("run")
  const tabStop = runs.some(({ run_id }) => run_id === current) ? current : runs[0]?.run_id
  const move = (event: KeyboardEvent): void => {
    const rows = [...(body.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])]
    const at = rows.findIndex((row) => row === document.activeElement)
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }
    const to = steps[event.key]
    if (at < 0) return
    if (to !== undefined) rows[Math.max(0, Math.min(rows.length - 1, to))]?.focus()
    else if (event.key === " ") toggleSelected(rows[at]?.dataset["row"] ?? "")
    else return
    event.preventDefault()
  }
  return (
    <div class="scrolls" role="region" aria-label="List of runs">
      <table class="run-table">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Selected</span>
            </th>
            <th scope="col">Run</th>
            <th scope="col">Status</th>
            {shown.map(({ name, label, isNumber }) => (
              <th key={name} scope="col" class={isNumber === true ? "number" : undefined}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={move}>
          {runs.map((run) => {
            const { run_id, status, input_preview, output_preview, error, created_at } = run
            const [state, word] = runMarks[status]
            const result = error?.message ?? output_preview ?? ""
            const title = titleOf(run)
            return (
              <tr key={run_id} aria-current={run_id === current ? "true" : undefined}>
                <td>
                  <input
                    type="checkbox"
                    tabIndex={-1}
                    aria-label={`Select the run of ${title} from ${showMoment(Date.parse(created_at))}`}
                    checked={selected.value.has(run_id)}
                    onChange={() => toggleSelected(run_id)}
                  />
                </td>
                <td class="run-cell">
                  <a
                    data-row={run_id}
                    href={addressOf("runs", changed({ run: run_id }))}
                    tabIndex={run_id === tabStop ? 0 : -1}
                    title={run_id}
                    onClick={(event) => follow(event, () => goTo("runs", changed({ run: run_id })))}
                  >
                    {title}
                  </a>
                  <span class="run-line" dir="auto">
                    {input_preview === null || input_preview === "" ? null : <VisibleText text={input_preview} />}
                    {result === "" ? null : (
                      <>
                        <span aria-hidden="true"> → </span>
                        <span class="visually-hidden">, result: </span>
                        <strong>
                          <VisibleText text={result} />
                        </strong>
                      </>
                    )}
                  </span>
                </td>
                <td>
                  <StateMark state={state} text={word} />
                </td>
                {shown.map(({ name, label, isNumber, text }) => (
                  <td key={name} class={isNumber === true ? "number" : "plain"} data-label={label}>
                    {text(run)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
