import { signal } from "@preact/signals"
import { useEffect, useState } from "preact/hooks"
import { nullable } from "../../src/types/relations.ts"
import { currentInput, inputProblems } from "../state/input.ts"
import { notify } from "../state/notices.ts"
import { optionCheck } from "../state/options.ts"
import { isText, secretFields, secretIn } from "../state/secrets.ts"
import { apiKey, baseUrl } from "../state/service.ts"
import { compilation, compileNow } from "../state/source.ts"
import { copyText } from "../state/copy.ts"
import { Dialog } from "../ui/dialog.tsx"
import { Icon } from "../ui/icon.tsx"
import { showBytes } from "../ui/show.ts"
import { TabPanel, Tabs } from "../ui/tabs.tsx"
import { toFragment } from "../state/link.ts"
import type { SnippetLanguage } from "./snippets.ts"
import { snippet, snippetLanguages } from "./snippets.ts"

const shareOpen = signal(false)
const language = signal<SnippetLanguage>("curl")

/** Opens the dialog, unless a secret's value is in what would leave the page. */
export function openShare(): void {
  const { text } = compileNow()
  const secret = secretIn(text) ?? secretIn(JSON.stringify(currentInput()))
  if (secret === undefined) shareOpen.value = true
  else notify(`Not shared: the value of secrets.${secret} is in the source or the input. Remove it first.`, "wrong")
}

/** A link to this workflow, and the same request from elsewhere. */
export function ShareDialog() {
  if (!shareOpen.value) return null
  return (
    <Dialog title="Share" onClose={() => (shareOpen.value = false)}>
      <div class="dialog-body">
        <LinkPart />
        <SnippetPart />
      </div>
    </Dialog>
  )
}

function LinkPart() {
  const [link, setLink] = useState("")
  const { text } = compilation.value
  useEffect(() => {
    void toFragment({ source: text, input: currentInput() }).then((fragment) =>
      setLink(`${location.origin}${location.pathname}${fragment}`),
    )
  }, [text])
  return (
    <section>
      <h3>Link</h3>
      <div class="with-button">
        <label class="visually-hidden" for="share-link">
          Link to this workflow
        </label>
        <input
          id="share-link"
          class="field mono"
          readOnly
          value={link}
          onFocus={(event) => event.currentTarget.select()}
        />
        <button type="button" class="button primary" disabled={link === ""} onClick={() => void copyText(link, "Link")}>
          <Icon name="copy" />
          Copy link
        </button>
      </div>
      <p class="hint-text">
        Holds the source and the input ({showBytes(link.length)}), after the # that browsers do not send. No secrets, no
        options, no results.
      </p>
    </section>
  )
}

function SnippetPart() {
  const { types } = compilation.value.program
  // A snippet waits for the whole result: text as it is written is for this page.
  const { deltas: _, ...options } = optionCheck.value.value
  const text = snippet(language.value, {
    url: baseUrl,
    source: compilation.value.text,
    input: currentInput(),
    options,
    secrets: secretFields.value.map(({ name, type }) => ({
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
        current={language.value}
        onSelect={(name) => (language.value = name)}
        items={snippetLanguages.map((name) => ({ name, label: name }))}
        tools={
          <button type="button" class="button" onClick={() => void copyText(text, language.value)}>
            <Icon name="copy" />
            Copy
          </button>
        }
      />
      <TabPanel id="snippet" name={language.value}>
        <pre class="snippet" tabIndex={0} aria-label={`The request as ${language.value}`}>
          {text}
        </pre>
      </TabPanel>
      <p class="hint-text">Secrets are read from environment variables; their values are not in the snippet.</p>
    </section>
  )
}
