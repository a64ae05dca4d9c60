import { signal } from "@preact/signals"
import { useEffect, useState } from "preact/hooks"
import { nullable } from "../../src/types/relations.ts"
import { currentInput, inputProblems } from "../form/input.ts"
import { optionCheck } from "../form/options.ts"
import { isText, secretFields } from "../form/secrets.ts"
import { served } from "../service/served.ts"
import { apiKey, baseUrl } from "../service/service.ts"
import { compilation, filesAround } from "../language/source.ts"
import { copyText } from "./copy.ts"
import { filesOf } from "../../src/source/source-files.ts"
import { Dialog } from "../ui/dialog.tsx"
import { Icon } from "../ui/icon.tsx"
import { showBytes } from "../ui/show.ts"
import { TabPanel, Tabs } from "../ui/tabs.tsx"
import { shareOpen } from "./sharing.ts"
import { toAddress, toFragment } from "./link.ts"
import { shownRun } from "../shown-run/shown-run.ts"
import type { SnippetLanguage } from "./snippets.ts"
import { languageLabel, languagesOf, snippet } from "./snippets.ts"

/** Null until one is chosen: the first one. */
const language = signal<SnippetLanguage | null>(null)

/** A link to this workflow, and the same request from elsewhere. */
export function ShareDialog() {
  return (
    <Dialog title="Share" onClose={() => (shareOpen.value = false)}>
      <div class="dialog-body">
        <RunPart />
        <LinkPart />
        <SnippetPart />
      </div>
    </Dialog>
  )
}

function LinkPart() {
  const [link, setLink] = useState("")
  const { text } = compilation.value
  const around = filesAround.value
  useEffect(() => {
    void toFragment({ source: text, input: currentInput(), ...around }).then((fragment) =>
      setLink(`${location.origin}${location.pathname}${fragment}`),
    )
  }, [text, around])
  return (
    <section>
      <h3>This workflow</h3>
      <LinkField
        id="share-link"
        label="Link to this workflow"
        link={link}
        announced="Link"
        isMain={shownRun.value?.run_id === undefined}
      />
      <p class="hint-text">
        Anyone who has the link can open it. It holds the source{" "}
        {around.modules === undefined ? "" : "with its other files "}and the input ({showBytes(link.length)}), after the
        # that browsers do not send. No secrets, no options, no results.
      </p>
    </section>
  )
}

interface LinkFieldProps {
  readonly id: string
  readonly label: string
  /** Empty while it is made. */
  readonly link: string
  /** What was copied, in the words of the notice. */
  readonly announced: string
  readonly isMain?: boolean
}

function LinkField({ id, label, link, announced, isMain = false }: LinkFieldProps) {
  return (
    <div class="with-button">
      <label class="visually-hidden" for={id}>
        {label}
      </label>
      <input id={id} class="field mono" readOnly value={link} onFocus={(event) => event.currentTarget.select()} />
      <button
        type="button"
        class={isMain ? "button primary" : "button"}
        disabled={link === ""}
        onClick={() => void copyText(link, announced)}
      >
        <Icon name="copy" />
        Copy link
      </button>
    </div>
  )
}

/** The address of the shown run. */
function RunPart() {
  const run_id = shownRun.value?.run_id
  if (run_id === undefined) return null
  const link = `${location.origin}${location.pathname}${toAddress({ run: run_id })}`
  return (
    <section>
      <h3>This run</h3>
      <LinkField id="share-run" label="Link to this run" link={link} announced="Link to the run" isMain />
      <p class="hint-text">
        {apiKey.value === undefined
          ? "Anyone who has the link and reaches this service can open it"
          : "Those who have the key that started it can open it"}
        , with its source, input and results, until the service deletes the run.
      </p>
    </section>
  )
}

function SnippetPart() {
  const { types } = compilation.value
  // A snippet waits for the whole result: text as it is written is for this page.
  const { deltas: _, ...options } = optionCheck.value.value
  const workflow = served.value?.name ?? null
  const languages = languagesOf({ workflow })
  const shown = languages.find((name) => name === language.value) ?? languages[0] ?? "curl"
  const text = snippet(shown, {
    url: baseUrl,
    workflow,
    source: compilation.value.text,
    files: filesOf(filesAround.value),
    input: currentInput(),
    options,
    secrets: // The server has the values of some itself.
      secretFields.value
        .filter(({ name }) => served.value?.secrets[name] !== "set")
        .map(({ name, type }) => ({
          name,
          isJson: !isText(type, types),
          isOptional: nullable(type, types),
        })),
    withKey: apiKey.value !== undefined,
  })
  return (
    <section>
      <h3>Copy as</h3>
      {inputProblems.value > 0 ? (
        <p class="wrong-text">The input does not fit yet; the request below would be refused.</p>
      ) : null}
      <Tabs<SnippetLanguage>
        label="Copy as"
        id="snippet"
        current={shown}
        onSelect={(name) => (language.value = name)}
        items={languages.map((name) => ({ name, label: languageLabel(name) }))}
        tools={
          <button type="button" class="button" onClick={() => void copyText(text, languageLabel(shown))}>
            <Icon name="copy" />
            Copy
          </button>
        }
      />
      <TabPanel id="snippet" name={shown}>
        <pre class="snippet" tabIndex={0} aria-label={`The request as ${languageLabel(shown)}`}>
          {text}
        </pre>
      </TabPanel>
      <p class="hint-text">Secrets are read from environment variables; their values are not in the snippet.</p>
    </section>
  )
}
