import { editor } from "../state/editor-port.ts"
import { problemsOpen } from "../state/layout.ts"
import { compilation, errorCount } from "../state/source.ts"
import { Icon } from "../ui/icon.tsx"
import { counted } from "../ui/show.ts"

/** The line under the editor: how many problems there are, and on request which. */
export function Problems() {
  const { diagnostics, lines } = compilation.value
  const count = diagnostics.length
  const isOpen = problemsOpen.value && count > 0
  return (
    <section class="problems" aria-label="Problems">
      {isOpen ? (
        <ul class="problem-list">
          {diagnostics.map(({ span, severity, message, hint, code }) => {
            const { line, column } = lines.position(span.start)
            return (
              <li key={`${span.start} ${code} ${message}`}>
                <button type="button" onClick={() => editor()?.reveal(span)}>
                  <span class={severity === "error" ? "state is-failed" : "state is-retried"}>
                    <Icon name={severity === "error" ? "failed" : "warning"} />
                    <span class="visually-hidden">{severity}</span>
                  </span>
                  <span class="problem-place">
                    {line}:{column}
                  </span>
                  <span>
                    {message}
                    {hint === undefined ? null : <span class="note"> {hint}</span>}
                  </span>
                  <code class="note">{code}</code>
                </button>
              </li>
            )
          })}
        </ul>
      ) : null}
      <div class="problem-bar">
        <button
          type="button"
          class="button"
          aria-expanded={isOpen}
          disabled={count === 0}
          onClick={() => (problemsOpen.value = !problemsOpen.value)}
        >
          {count === 0 ? (
            <>
              <Icon name="completed" />
              No problems
            </>
          ) : (
            <span class={errorCount.value > 0 ? "state is-failed" : "state is-retried"}>
              <Icon name={errorCount.value > 0 ? "failed" : "warning"} />
              {counted(count, "problem")}
            </span>
          )}
        </button>
        <span class="tools">
          <button type="button" class="button" aria-keyshortcuts="Control+S Meta+S" onClick={() => editor()?.format()}>
            <Icon name="format" />
            Format
          </button>
        </span>
      </div>
    </section>
  )
}
