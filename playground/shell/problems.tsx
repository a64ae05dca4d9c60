import type { Diagnostic } from "../../src/source/diagnostic.ts"
import { shownEditor } from "../files/editor-port.ts"
import { problemsOpen } from "../page/layout.ts"
import { fixesOf } from "../editor/quick-fixes.ts"
import { codeAddress } from "../service/service.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { shownCompilation } from "../language/parts.ts"
import { Icon } from "../ui/icon.tsx"
import { Sentence } from "../ui/sentence.tsx"
import { counted } from "../ui/show.ts"

/** The line under the editor: how many problems there are and what the first one is, and on request all of them. */
export function Problems() {
  const { diagnostics } = shownCompilation.value
  const count = diagnostics.length
  const errors = diagnostics.filter(isError).length
  const isOpen = problemsOpen.value && count > 0
  const [first] = diagnostics
  return (
    <section
      class="problems"
      aria-label="Problems"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return
        problemsOpen.value = false
        shownEditor()?.focus()
      }}
    >
      {isOpen ? (
        <ul class="problem-list">
          {diagnostics.map((found) => (
            <Problem key={`${found.span.start} ${found.code} ${found.message}`} found={found} />
          ))}
        </ul>
      ) : null}
      <div class="problem-bar">
        <button
          type="button"
          class="button"
          aria-expanded={isOpen}
          aria-keyshortcuts="Control+Shift+M Meta+Shift+M"
          disabled={count === 0}
          onClick={() => (problemsOpen.value = !problemsOpen.value)}
        >
          {count === 0 ? (
            <>
              <Icon name="completed" />
              No problems
            </>
          ) : (
            <span class={errors > 0 ? "state is-failed" : "state is-retried"}>
              <Icon name={errors > 0 ? "failed" : "warning"} />
              {counted(count, "problem")}
            </span>
          )}
        </button>
        {first === undefined || isOpen ? null : (
          <button type="button" class="button first-problem" onClick={() => shownEditor()?.reveal(first.span)}>
            <span>
              <Sentence text={first.message} />
            </span>
          </button>
        )}
        <span class="tools">
          <button
            type="button"
            class="button"
            aria-keyshortcuts="Control+S Meta+S"
            onClick={() => shownEditor()?.format()}
          >
            <Icon name="format" />
            Format
          </button>
        </span>
      </div>
    </section>
  )
}

function Problem({ found }: { readonly found: Diagnostic }) {
  const { span, severity, message, hint, code } = found
  const { line, column } = shownCompilation.value.lines.position(span.start)
  return (
    <li>
      <button type="button" class="problem" onClick={() => shownEditor()?.reveal(span)}>
        <span class={severity === "error" ? "state is-failed" : "state is-retried"}>
          <Icon name={severity === "error" ? "failed" : "warning"} />
          <span class="visually-hidden">{severity}</span>
        </span>
        <span class="problem-place">
          {line}:{column}
        </span>
        <span>
          <Sentence text={message} />
          {hint === undefined ? null : (
            <span class="note">
              {" "}
              <Sentence text={hint} />
            </span>
          )}
        </span>
      </button>
      <span class="problem-help">
        {fixesOf(found).map(({ title, apply }) => (
          <button key={title} type="button" class="button outlined" onClick={apply}>
            <Sentence text={title} />
          </button>
        ))}
        <a class="mono" href={codeAddress(code)} target="_blank" rel="noopener">
          {code}
        </a>
      </span>
    </li>
  )
}
