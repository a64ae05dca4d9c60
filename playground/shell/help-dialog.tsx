import { signal } from "@preact/signals"
import { baseUrl } from "../service/service.ts"
import { Dialog } from "../ui/dialog.tsx"

const isOpen = signal(false)

export function openHelp(): void {
  isOpen.value = true
}

const keys: readonly [string, string][] = [
  ["Ctrl Enter", "Run"],
  ["Ctrl K", "All commands, by name"],
  ["Ctrl S", "Format the source"],
  ["Ctrl Space", "Complete in the editor"],
  ["F2, F12", "Rename a name, go to where it is declared"],
  ["Ctrl Shift M", "Show the problems"],
  ["Arrows", "Move in the timeline, from step to step in the graph, in menus and lists"],
  ["+, −, 0", "Zoom in the graph and in the timeline of a run that has ended"],
  ["?", "This sheet"],
]

const marks: readonly [string, string][] = [
  [
    "A dot on a step",
    "It changed since the last run, or did not finish: “Run … changed steps”, or “Retry failed steps”, runs it and takes over the others.",
  ],
  ["Amber", "A step waits for a person: the Questions tab has the form."],
  ["Violet", "The answer came from the cache."],
  ["At least …", "The end of the run cut a call off, and nobody knows what it used."],
]

/** What the keys do, what the marks mean, and where to read on. */
export function HelpDialog() {
  if (!isOpen.value) return null
  return (
    <Dialog title="Help" onClose={() => (isOpen.value = false)}>
      <div class="dialog-body help">
        <section>
          <h3>In three steps</h3>
          <p>
            Open an example or write a workflow, fill in its input, and press Run. Select a step in the graph or a row
            of the timeline to see what it was asked, what it answered, and the request as it was sent.
          </p>
        </section>
        <section>
          <h3>Keys</h3>
          <dl class="help-list">
            {keys.map(([name, text]) => (
              <div key={name}>
                <dt>
                  <kbd>{name}</kbd>
                </dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </section>
        <section>
          <h3>Marks</h3>
          <dl class="help-list">
            {marks.map(([name, text]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </section>
        <section>
          <h3>Read on</h3>
          <ul>
            <li>
              <a href={`${baseUrl}/llms.txt`} target="_blank" rel="noreferrer">
                The whole language on one page
              </a>
            </li>
            <li>
              <a href={`${baseUrl}/playground/diagnostics.html`} target="_blank" rel="noreferrer">
                Every message of the checker, with its fix
              </a>
            </li>
            <li>
              <a href={`${baseUrl}/openapi.json`} target="_blank" rel="noreferrer">
                The HTTP interface (OpenAPI)
              </a>
            </li>
          </ul>
        </section>
      </div>
    </Dialog>
  )
}
