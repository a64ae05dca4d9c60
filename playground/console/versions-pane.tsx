import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { WireworksError, type VersionAnswer } from "../../src/client/client.ts"
import { diffLines, type DiffLine } from "../../src/diff/show-diff.ts"
import { notify } from "../page/notices.ts"
import { client } from "../service/service.ts"
import { loadServerWorkflows } from "../service/served.ts"
import { attempt } from "./attempt.ts"
import { move, MoveSection, moving } from "./move-section.tsx"
import { follow } from "./navigation.tsx"
import { addressOf, changed, goTo } from "./place.ts"
import { ReleaseSection } from "./release-section.tsx"
import { changedLines, TextChange, type TextLine } from "./text-change.tsx"

interface Comparison {
  readonly version: string
  readonly lines: readonly DiffLine[]
  /** Null for callers, who do not see files of older versions. */
  readonly text: readonly TextLine[] | null
}

const versions = signal<readonly VersionAnswer[] | null>(null)
const compared = signal<Comparison | null>(null)

async function load(name: string): Promise<void> {
  await attempt(
    async () => (versions.value = await client().versions(name)),
    () => void load(name),
  )
}

async function compare(name: string, version: string, current: string): Promise<void> {
  await attempt(
    async () => {
      const lines = diffLines(await client().diffVersions(name, version, current))
      compared.value = { version, lines, text: await textsOf(name, version, current) }
    },
    () => void compare(name, version, current),
  )
}

async function textsOf(name: string, before: string, after: string): Promise<readonly TextLine[] | null> {
  try {
    const [old, now] = await Promise.all([client().version(name, before), client().version(name, after)])
    return changedLines(old.source.split("\n"), now.source.split("\n"))
  } catch (error) {
    // Only operators read sources.
    if (error instanceof WireworksError && error.status === 403) return null
    throw error
  }
}

async function serve(name: string, version: string | null): Promise<void> {
  await attempt(
    async () => {
      const served = await client().serveVersion(name, version)
      notify(`${name} serves version ${served.version}`)
      await Promise.all([load(name), loadServerWorkflows()])
    },
    () => void serve(name, version),
  )
}

/** The versions of one workflow, with their runs and what changed since. */
export function VersionsPane({ name, pinned }: { readonly name: string; readonly pinned: boolean }) {
  useEffect(() => {
    versions.value = null
    compared.value = null
    moving.value = null
    void load(name)
  }, [name])
  const found = versions.value
  const current = found?.find(({ serving }) => serving === "current")?.version
  return (
    <section class="pane console-list" aria-label={`Versions of ${name}`}>
      <p class="list-line">
        <strong>{name}</strong>{" "}
        {pinned ? (
          <>
            <span class="note">serves a kept version in place of its file</span>{" "}
            <button type="button" class="button outlined" onClick={() => void serve(name, null)}>
              Serve the file
            </button>{" "}
          </>
        ) : null}
        <button type="button" class="button outlined" onClick={() => goTo("workflows", changed({ versions: null }))}>
          Close
        </button>
      </p>
      {found === null ? (
        <p class="empty">Loading …</p>
      ) : (
        <div class="scrolls">
          <table class="run-table">
            <thead>
              <tr>
                <th scope="col">Version</th>
                <th scope="col">First served</th>
                <th scope="col">Last served</th>
                <th scope="col">Runs</th>
                <th scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map((version) => (
                <VersionRow key={version.version} name={name} version={version} current={current} />
              ))}
            </tbody>
          </table>
          {found.some(({ serving }) => serving === "candidate") ? <ReleaseSection name={name} /> : null}
          <MoveSection moved={() => load(name)} />
          {compared.value === null ? null : <Compared comparison={compared.value} />}
        </div>
      )}
    </section>
  )
}

function VersionRow({
  name,
  version: { version, serving, withdrawn, first_served_at, last_served_at, runs },
  current,
}: {
  readonly name: string
  readonly version: VersionAnswer
  readonly current: string | undefined
}) {
  const query = new URLSearchParams({ workflow: name, version })
  return (
    <tr>
      <td class="plain mono">
        {version} <span class="note">{serving ?? (withdrawn === true ? "withdrawn" : "")}</span>
      </td>
      <td class="plain" data-label="First served">
        {new Date(first_served_at).toLocaleString()}
      </td>
      <td class="plain" data-label="Last served">
        {new Date(last_served_at).toLocaleString()}
      </td>
      <td class="plain" data-label="Runs">
        {runs.open} open, {runs.waiting} waiting, {runs.ended} ended
      </td>
      <td class="plain">
        <a
          href={addressOf("runs", query)}
          aria-label={`Runs of version ${version}`}
          onClick={(event) => follow(event, () => goTo("runs", query))}
        >
          Runs
        </a>{" "}
        {serving === "current" || current === undefined ? null : (
          <>
            <button
              type="button"
              class="button outlined"
              aria-label={`Compare version ${version} with the one that serves`}
              onClick={() => void compare(name, version, current)}
            >
              Compare
            </button>{" "}
            {runs.waiting === 0 ? null : (
              <>
                <button
                  type="button"
                  class="button outlined"
                  aria-label={`What a move of the waiting runs of version ${version} would do`}
                  onClick={() => void move({ name, from: version, to: current, dry: true })}
                >
                  Move …
                </button>{" "}
              </>
            )}
            <button
              type="button"
              class="button outlined"
              aria-label={`Serve version ${version}`}
              onClick={() => {
                const question = `Serve version ${version} of ${name} in place of its file, on all replicas?`
                if (confirm(question)) void serve(name, version)
              }}
            >
              Serve
            </button>
          </>
        )}
      </td>
    </tr>
  )
}

function Compared({ comparison: { version, lines, text } }: { readonly comparison: Comparison }) {
  return (
    <section aria-label={`From version ${version} to the one that serves`} class="version-change">
      <p>
        <strong>From {version} to the version that serves</strong>
      </p>
      {lines.length === 0 ? <p>No difference.</p> : null}
      {lines.map(({ area, text: words }) => (
        <p key={`${area} ${words}`}>
          <strong>{area}</strong> {words}
        </p>
      ))}
      {text === null ? null : <TextChange label="The change as text" lines={text} />}
    </section>
  )
}
