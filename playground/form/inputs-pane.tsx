import { parseDuration } from "../../src/base/parse-duration.ts"
import { showType } from "../../src/types/show-type.ts"
import { useState } from "preact/hooks"
import {
  inputCheck,
  inputDraft,
  inputMode,
  inputProblems,
  inputText,
  inputType,
  markedEmpty,
  needsJson,
  setField,
  setInputMode,
  setInputText,
} from "./input.ts"
import type { InputTab } from "../page/layout.ts"
import { inputTab } from "../page/layout.ts"
import { notify } from "../page/notices.ts"
import { limitKeys } from "../../src/syntax/property-table.ts"
import { limitWords } from "../ui/limit-words.ts"
import type { OptionTexts } from "./options.ts"
import { optionCheck, optionTexts } from "./options.ts"
import { isText, pasteSecrets, secretCheck, secretFields, secretHosts, secretText, setSecret } from "./secrets.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"
import { compilation } from "../language/source.ts"
import { Icon } from "../ui/icon.tsx"
import { counted, showDuration } from "../ui/show.ts"
import { TabPanel, Tabs } from "../ui/tabs.tsx"
import { FieldEditor } from "./field-editor.tsx"
import { fieldId } from "./field-id.ts"
import { atField } from "./at-field.ts"

/** Input, secrets and options of the next run. */
export function InputsPane() {
  const tab = inputTab.value
  const missing = secretCheck.value.misfits.length
  return (
    <section class="pane inputs" aria-label="Input, secrets and options">
      <Tabs<InputTab>
        label="What the run is given"
        id="inputs"
        current={tab}
        onSelect={(name) => (inputTab.value = name)}
        items={[
          { name: "input", label: "Input", count: inputProblems.value + markedEmpty.value.length, wrong: true },
          { name: "secrets", label: "Secrets", count: missing, wrong: true },
          { name: "options", label: "Options", count: Object.keys(optionCheck.value.wrong).length, wrong: true },
        ]}
        tools={tab === "input" ? <ModeSwitch /> : undefined}
      />
      <TabPanel id="inputs" name={tab} class="scrolls form">
        {tab === "input" ? <InputForm /> : tab === "secrets" ? <SecretsForm /> : <OptionsForm />}
      </TabPanel>
    </section>
  )
}

function ModeSwitch() {
  const mode = inputMode.value
  return (
    <>
      <button
        type="button"
        class="button"
        aria-pressed={mode === "form"}
        disabled={needsJson.value}
        title={needsJson.value ? "This input has too many values for a form." : undefined}
        onClick={() => setInputMode("form")}
      >
        Form
      </button>
      <button type="button" class="button" aria-pressed={mode === "json"} onClick={() => setInputMode("json")}>
        JSON
      </button>
    </>
  )
}

// ---------------------------------------------------------------------------------------------------------- input

function InputForm() {
  if (inputMode.value === "json") return <InputJson />
  const { fields } = inputType.value
  const { types } = compilation.value
  if (fields.length === 0) {
    return (
      <p class="empty">
        This workflow takes no input. Add <code>input {"{ name: string }"}</code> to its source, and the form for it
        appears here.
      </p>
    )
  }
  const misfits = new Map(inputCheck.value.misfits.toReversed().map(({ path, message }) => [path, message]))
  for (const path of markedEmpty.value) misfits.set(path, "Nothing is written here. JSON sends an empty text.")
  const form = {
    types,
    misfit: (path: string) => atField(misfits.get(path), path),
    hasMisfitWithin: (path: string) =>
      [...misfits.keys()].some((at) => at.startsWith(`${path}.`) || at.startsWith(`${path}[`)),
  }
  return (
    <div class="form-fields">
      {fields.map(({ name, type, doc }) => (
        <FieldEditor
          key={`${name} ${showType(type)}`}
          form={form}
          path={`input.${name}`}
          label={name}
          doc={doc}
          type={type}
          value={inputDraft.value[name]}
          onChange={(value) => setField(name, value)}
        />
      ))}
    </div>
  )
}

function InputJson() {
  const { broken, misfits } = inputCheck.value
  return (
    <div class="form-fields">
      <label class="visually-hidden" for="input-json">
        Input as JSON
      </label>
      <textarea
        id="input-json"
        class="field mono input-json"
        spellcheck={false}
        aria-invalid={inputProblems.value > 0}
        aria-describedby="input-json-wrong"
        value={inputText.value}
        onInput={(event) => setInputText(event.currentTarget.value)}
      />
      <ul id="input-json-wrong" class="wrong-text">
        {broken === undefined ? null : <li>{broken}</li>}
        {misfits.map(({ path, message, hint }) => (
          <li key={`${path} ${message}`}>
            {message}
            {hint === undefined ? null : ` ${hint}`}
          </li>
        ))}
      </ul>
    </div>
  )
}

// -------------------------------------------------------------------------------------------------------- secrets

/** Fields that are shown: more than a run may have. */
const maxSecrets = 300

function SecretsForm() {
  const fields = secretFields.value
  if (fields.length === 0) {
    return (
      <p class="empty">
        This workflow declares no secrets. One that needs a key says <code>secrets {"{ api_key: string }"}</code>, and a
        masked field for it appears here.
      </p>
    )
  }
  const misfits = new Map(secretCheck.value.misfits.map(({ path, message }) => [path, message]))
  return (
    <div class="form-fields">
      <p class="hint-text">
        Kept in this page's memory until it is closed, and sent with the run. Never stored, linked, copied or logged.
        {fields.length > 1 ? (
          <>
            {" "}
            Paste an object in JSON, <code>{'{ "name": "value" }'}</code>, into any field to fill all that it names.
          </>
        ) : null}
      </p>
      {fields.length > maxSecrets ? (
        <p class="wrong-text">
          This workflow declares {counted(fields.length, "secret")}, more than a run takes. The first {maxSecrets} are
          shown.
        </p>
      ) : null}
      {fields.slice(0, maxSecrets).map(({ name, type, doc }) => {
        const path = `secrets.${name}`
        const wrong = atField(misfits.get(path), path)
        return (
          <SecretField
            key={name}
            name={name}
            note={isText(type, compilation.value.types) ? showType(type, 40) : `${showType(type, 40)}, as JSON`}
            doc={doc}
            hosts={secretHosts.value.get(name) ?? []}
            wrong={wrong}
          />
        )
      })}
    </div>
  )
}

interface SecretFieldProps {
  readonly name: string
  readonly note: string
  readonly doc: string | undefined
  /** Hosts that would receive the secret. */
  readonly hosts: readonly string[]
  readonly wrong: string | undefined
}

function SecretField({ name, note, doc, hosts, wrong }: SecretFieldProps) {
  const [seen, setSeen] = useState(false)
  const id = fieldId(`secrets.${name}`)
  return (
    <div class="form-field">
      <div class="form-label">
        <label for={id}>
          <span class="name">{name}</span> <span class="type">{note}</span>
        </label>
      </div>
      <div class="with-button">
        <input
          id={id}
          class="field mono"
          type={seen ? "text" : "password"}
          autocomplete="off"
          spellcheck={false}
          data-1p-ignore
          data-lpignore="true"
          aria-invalid={wrong !== undefined}
          aria-describedby={`${id}-notes`}
          value={secretText(name)}
          onInput={(event) => setSecret(name, event.currentTarget.value)}
          onPaste={(event) => {
            if (pasteSecrets(event.clipboardData?.getData("text/plain") ?? "")) event.preventDefault()
          }}
        />
        <button
          type="button"
          class="button square outlined"
          aria-label={`Show ${name}`}
          aria-pressed={seen}
          onClick={() => setSeen(!seen)}
        >
          <Icon name="eye" />
        </button>
      </div>
      <div id={`${id}-notes`}>
        <p class="hint-text">
          {hosts.length === 0 ? (
            "No host receives it."
          ) : (
            <>
              Would go to <strong>{hosts.join(", ")}</strong>.
            </>
          )}
        </p>
        {doc === undefined ? null : <p class="hint-text">{doc}</p>}
        {wrong === undefined ? null : <p class="wrong-text">{wrong}</p>}
      </div>
    </div>
  )
}

// -------------------------------------------------------------------------------------------------------- options

function OptionsForm() {
  const texts = optionTexts.value
  const { wrong } = optionCheck.value
  const set = (change: Partial<OptionTexts>): void => {
    optionTexts.value = { ...texts, ...change }
  }
  const timeout = parseDuration(texts.timeout.trim())
  return (
    <div class="form-fields">
      <div class="form-field">
        <div class="form-label">
          <label for="option-cache-key">
            <span class="name">Cache key</span> <span class="type">cache_key</span>
          </label>
        </div>
        <div class="with-button">
          <input
            id="option-cache-key"
            class="field mono"
            placeholder="none: nothing is cached"
            autocomplete="off"
            aria-invalid={wrong.cache_key !== undefined}
            aria-describedby="option-cache-key-note"
            value={texts.cache_key}
            onInput={(event) => set({ cache_key: event.currentTarget.value })}
          />
          <button
            type="button"
            class="button outlined"
            disabled={texts.cache_key === ""}
            onClick={() => void emptyCache(texts.cache_key)}
          >
            Empty it
          </button>
        </div>
        <p id="option-cache-key-note" class={wrong.cache_key === undefined ? "hint-text" : "wrong-text"}>
          {wrong.cache_key ?? "Runs with the same key share the answers of agents that were asked the same."}
        </p>
      </div>
      <OptionSwitch
        id="option-use-cache"
        label="Use the cache"
        name="use_cache"
        checked={texts.use_cache}
        onChange={(use_cache) => set({ use_cache })}
      />
      <OptionText
        id="option-concurrency"
        label="Calls at a time"
        name="max_concurrency"
        placeholder="the service's default"
        note="Bounds the model and tool calls of this run."
        wrong={wrong.max_concurrency}
        value={texts.max_concurrency}
        onChange={(max_concurrency) => set({ max_concurrency })}
      />
      <OptionText
        id="option-timeout"
        label="Time limit"
        name="timeout_ms"
        placeholder="the service's default"
        note={
          timeout === undefined
            ? "Such as 30s or 15m, for the whole run."
            : `The run may take ${showDuration(timeout)}.`
        }
        wrong={wrong.timeout}
        value={texts.timeout}
        onChange={(text) => set({ timeout: text })}
      />
      <OptionSwitch
        id="option-deltas"
        label="Show text as it is written"
        name="deltas"
        checked={texts.deltas}
        onChange={(deltas) => set({ deltas })}
      />
      {limitKeys.map((key) => (
        <OptionText
          key={key}
          id={`option-limit-${key}`}
          label={limitWords[key].label}
          name={`limits.${key}`}
          placeholder="the workflow's limit, or none"
          note={limitWords[key].note}
          wrong={wrong[key]}
          value={texts.limits?.[key] ?? ""}
          onChange={(text) => set({ limits: { ...texts.limits, [key]: text } })}
        />
      ))}
    </div>
  )
}

async function emptyCache(key: string): Promise<void> {
  try {
    const { purged_entries } = await client().invalidateCache(key)
    notify(`${counted(purged_entries, "entry", "entries")} of this cache key dropped.`)
  } catch (error) {
    if (!asksForKey(error, () => void emptyCache(key))) notify(`Not emptied: ${toWireError(error).message}.`, "wrong")
  }
}

interface OptionTextProps {
  readonly id: string
  readonly label: string
  readonly name: string
  readonly placeholder: string
  readonly note: string
  readonly wrong: string | undefined
  readonly value: string
  readonly onChange: (value: string) => void
}

function OptionText({ id, label, name, placeholder, note, wrong, value, onChange }: OptionTextProps) {
  return (
    <div class="form-field">
      <div class="form-label">
        <label for={id}>
          <span class="name">{label}</span> <span class="type">{name}</span>
        </label>
      </div>
      <input
        id={id}
        class="field"
        placeholder={placeholder}
        autocomplete="off"
        aria-invalid={wrong !== undefined}
        aria-describedby={`${id}-note`}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <p id={`${id}-note`} class={wrong === undefined ? "hint-text" : "wrong-text"}>
        {wrong ?? note}
      </p>
    </div>
  )
}

interface OptionSwitchProps {
  readonly id: string
  readonly label: string
  readonly name: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

function OptionSwitch({ id, label, name, checked, onChange }: OptionSwitchProps) {
  return (
    <div class="form-field inline">
      <div class="form-label">
        <label for={id}>
          <span class="name">{label}</span> <span class="type">{name}</span>
        </label>
      </div>
      <input
        id={id}
        type="checkbox"
        role="switch"
        class="switch"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    </div>
  )
}
