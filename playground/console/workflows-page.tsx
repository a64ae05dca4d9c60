import { useEffect } from "preact/hooks"
import type { WorkflowAnswer } from "../../src/client/client.ts"
import { baseUrl } from "../service/service.ts"
import { loadServerWorkflows, serverWorkflows } from "../service/served.ts"
import { counted } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import { follow } from "./navigation.tsx"
import { LaterPage } from "./later-page.tsx"
import { addressOf, goTo, place } from "./place.ts"

const everyMs = 10_000

/** The workflows of the server's folder: which version serves, and what is wrong with a file. */
export function WorkflowsPage() {
  useEffect(() => {
    void loadServerWorkflows()
    const timer = setInterval(() => {
      if (!document.hidden) void loadServerWorkflows()
    }, everyMs)
    return () => clearInterval(timer)
  }, [])
  const workflows = serverWorkflows.value
  if (workflows.length === 0) {
    return (
      <div class="empty">
        <p>
          This service has no workflows of its own. Each <code>.wire</code> file of the folder in{" "}
          <code>WIRE_WORKFLOWS</code> is served by its name, and listed here with its version and its runs.
        </p>
        <p>
          <code>npx wire init</code> makes such a folder.
        </p>
      </div>
    )
  }
  const chosen = workflows.find(({ name }) => name === place.value.params.get("versions"))
  if (chosen !== undefined) {
    return (
      <LaterPage>{({ VersionsPane }) => <VersionsPane name={chosen.name} pinned={chosen.pinned === true} />}</LaterPage>
    )
  }
  return (
    <section class="pane console-list" aria-label="Workflows">
      <p class="list-line note">{counted(workflows.length, "workflow")}</p>
      <div class="scrolls">
        <table class="run-table">
          <thead>
            <tr>
              <th scope="col">Workflow</th>
              <th scope="col">State</th>
              <th scope="col">Version</th>
              <th scope="col">Secrets</th>
              <th scope="col">
                <span class="visually-hidden">Links</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {workflows.map((workflow) => (
              <WorkflowRow key={workflow.name} workflow={workflow} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function WorkflowRow({ workflow }: { readonly workflow: WorkflowAnswer }) {
  const { name, description, version, valid, issues, secrets, schemas } = workflow
  const runs = new URLSearchParams({ workflow: name })
  const versions = new URLSearchParams({ versions: name })
  const missing = Object.entries(secrets).flatMap(([secret, state]) => (state === "missing" ? [secret] : []))
  const [first] = issues
  return (
    <tr>
      <td class="run-cell">
        <strong>{name}</strong>
        <span class="run-line" dir="auto">
          {description?.split("\n", 1)[0] ?? ""}
        </span>
        {first === undefined ? null : (
          <span class="run-line wrong-text" title={issues.map(({ message }) => message).join("\n")}>
            {first.message}
          </span>
        )}
      </td>
      <td>
        <StateMark
          state={valid ? "completed" : "failed"}
          text={
            valid
              ? "serves"
              : schemas === null
                ? "with errors, not served"
                : "with errors, the last valid version serves"
          }
        />
      </td>
      <td class="plain mono" data-label="Version">
        {version ?? "–"}
        {workflow.pinned === true ? <span class="note"> pinned</span> : null}
      </td>
      <td class="plain" data-label="Secrets">
        {Object.keys(secrets).length === 0 ? "none" : missing.length === 0 ? "set" : `missing: ${missing.join(", ")}`}
      </td>
      <td class="plain">
        <a
          href={addressOf("runs", runs)}
          aria-label={`Runs of ${name}`}
          onClick={(event) => follow(event, () => goTo("runs", runs))}
        >
          Runs
        </a>{" "}
        <a
          href={addressOf("workflows", versions)}
          aria-label={`Versions of ${name}`}
          onClick={(event) => follow(event, () => goTo("workflows", versions))}
        >
          Versions
        </a>{" "}
        <a
          href={`${baseUrl}/playground#workflow=${encodeURIComponent(name)}`}
          aria-label={`Open ${name} in the playground`}
        >
          Open
        </a>
      </td>
    </tr>
  )
}
