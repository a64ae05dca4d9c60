import { fileName } from "../files/files.ts"
import { callLabel, openedCalls } from "../files/opened-calls.ts"
import { Icon } from "../ui/icon.tsx"
import { levels } from "./graph-model.ts"

/** The way from the workflow to the called one that the graph shows, and back. */
export function WayBack() {
  const way = levels.value
  const last = way.at(-1)
  if (last === undefined) return null
  const to = (depth: number) => () => {
    openedCalls.value = openedCalls.value.slice(0, depth)
  }
  return (
    <nav class="way-back" aria-label="Opened calls">
      <button type="button" class="button" aria-label={`Back to ${fileName.value}`} onClick={to(0)}>
        <Icon name="left" />
        {fileName.value}
      </button>
      {way.map(({ call }, at) => (
        <span key={at}>
          <Icon name="right" />
          {at === way.length - 1 ? (
            <strong aria-current="page">{call.workflow}</strong>
          ) : (
            <button type="button" class="button" onClick={to(at + 1)}>
              {call.workflow}
            </button>
          )}
        </span>
      ))}
      {last.scopes.length < 2 ? null : (
        <select
          class="field"
          aria-label={`Which call of ${last.call.workflow}`}
          value={last.scope}
          onChange={({ currentTarget }) => {
            openedCalls.value = [...openedCalls.value.slice(0, -1), { ...last.call, scope: currentTarget.value }]
          }}
        >
          {last.scopes.map((scope) => (
            <option key={scope} value={scope}>
              {callLabel(scope, last.call.node)}
            </option>
          ))}
        </select>
      )}
    </nav>
  )
}
