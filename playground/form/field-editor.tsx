import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { childPath } from "../../src/base/child-path.ts"
import { isFileValue } from "../../src/types/file-value.ts"
import { resolve } from "../../src/types/relations.ts"
import { showType } from "../../src/types/show-type.ts"
import type { Field, Type, TypeTable, VariantType } from "../../src/types/types.ts"
import { Icon } from "../ui/icon.tsx"
import { counted } from "../ui/show.ts"
import { DropZone, StoredFile } from "../values/stored-file.tsx"
import {
  blankValue,
  isDraftArray,
  isDraftObject,
  memberOf,
  unansweredValue,
  type Draft,
  type DraftObject,
} from "./draft.ts"
import { fieldId } from "./field-id.ts"
import { FileControl } from "./file-control.tsx"
import { useListEntries } from "./list-entries.tsx"
import { JsonControl, NumberControl, textOf } from "./plain-controls.tsx"

export interface FormContext {
  readonly types: TypeTable
  /** What does not fit at a path. */
  readonly misfit: (path: string) => string | undefined
  /** Whether something inside of the value at a path does not fit. */
  readonly hasMisfitWithin?: (path: string) => boolean
  /** Tells the controls of this form from those of others with the same paths. */
  readonly scope?: string
  /** For people who do not know the workflow: doc comments in place of names, without types. */
  readonly isForPeople?: boolean
}

/** What a new part of the form begins as. */
function blankIn({ types, isForPeople }: FormContext, type: Type): Draft {
  return isForPeople === true ? unansweredValue(type, types) : blankValue(type, types)
}

interface EditorProps {
  readonly form: FormContext
  readonly path: string
  readonly type: Type
  readonly value: Draft
  readonly onChange: (value: Draft) => void
}

interface LabelledProps extends EditorProps {
  readonly label: string
  /** Can be folded to one line. */
  readonly folds?: boolean
  readonly doc?: string | undefined
  /** Shown beside the label: the buttons of a list's entry. */
  readonly tools?: ComponentChildren
}

/** A field of an object: its name, its type, what is wrong with it, and the control for its value. */
export function FieldEditor({ label, doc, tools, folds, ...editor }: LabelledProps) {
  const { form, path, type } = editor
  const known = resolve(type, form.types)
  const isForPeople = form.isForPeople === true
  const misfit = form.misfit(path)
  const isMissing = misfit?.startsWith("Missing: ") === true
  const wrong = isMissing && (isForPeople || known.kind === "file") ? missing(known.kind) : misfit
  const id = fieldId(path, form.scope)
  const isDocBelow = doc !== undefined && !isForPeople
  const notes = [isDocBelow ? `${id}-doc` : "", wrong === undefined ? "" : `${id}-wrong`].join(" ").trim()
  const head = isForPeople ? (
    <>
      <span class="name">{doc ?? label}</span>
      {isOptional(known, form.types) ? <span class="hint-text"> may be left empty</span> : null}
    </>
  ) : (
    <>
      <span class="name">{label}</span> <span class="type">{showType(type, 40)}</span>
    </>
  )
  const foot = (
    <>
      {!isDocBelow ? null : (
        <p class="hint-text" id={`${id}-doc`} dir="auto">
          {doc}
        </p>
      )}
      {wrong === undefined ? null : (
        <p class="wrong-text" id={`${id}-wrong`}>
          {wrong}
        </p>
      )}
    </>
  )
  const text = isForPeople ? optionalText(known, form.types) : undefined
  if (isForPeople && known.kind === "boolean") return <YesOrNo {...editor} head={head} foot={foot} notes={notes} />
  if (isGroup(known.kind) && text === undefined) {
    return (
      <GroupField
        {...editor}
        label={label}
        head={head}
        foot={foot}
        tools={tools}
        notes={notes}
        folds={folds === true || known.kind === "array"}
      />
    )
  }
  return (
    <div class={known.kind === "boolean" ? "form-field inline" : "form-field"}>
      <div class="form-label">
        <label for={id}>{head}</label>
        {tools === undefined ? null : <span class="entry-tools">{tools}</span>}
      </div>
      {text === undefined ? (
        <ValueEditor {...editor} label={label} notes={notes} />
      ) : (
        <ValueEditor
          {...editor}
          type={text}
          value={editor.value ?? undefined}
          label={label}
          notes={notes}
          onChange={(next) => editor.onChange(next === "" ? null : (next ?? null))}
        />
      )}
      {foot}
    </div>
  )
}

/** What a person is told who has left out an answer. */
export function missing(kind: Type["kind"]): string {
  return kind === "boolean"
    ? "Choose Yes or No."
    : kind === "integer"
      ? "Give a whole number."
      : kind === "enum" || kind === "variant"
        ? "Choose one."
        : kind === "file"
          ? "A file is missing here."
          : "An answer is missing here."
}

function isOptional(type: Type, types: TypeTable): boolean {
  return type.kind === "union" && type.members.some((member) => resolve(member, types).kind === "null")
}

/** The text or number that may be left out, of a type that is nothing else. */
function optionalText(type: Type, types: TypeTable): Type | undefined {
  if (type.kind !== "union" || type.members.length !== 2 || !isOptional(type, types)) return undefined
  const members = type.members.map((member) => resolve(member, types))
  return members.find(({ kind }) => kind === "string" || kind === "number" || kind === "integer")
}

interface YesOrNoProps extends EditorProps {
  readonly head: ComponentChildren
  readonly foot: ComponentChildren
  readonly notes: string
}

/** Neither is chosen until a person has. */
function YesOrNo({ form, path, value, onChange, head, foot, notes }: YesOrNoProps) {
  const id = fieldId(path, form.scope)
  return (
    <fieldset class="form-field yes-or-no" aria-describedby={notes === "" ? undefined : notes}>
      <legend>{head}</legend>
      <span class="choices">
        {[true, false].map((choice) => (
          <label key={String(choice)} class="button outlined">
            <input
              type="radio"
              name={id}
              id={choice ? id : undefined}
              checked={value === choice}
              aria-invalid={form.misfit(path) !== undefined}
              onChange={() => onChange(choice)}
            />
            {choice ? "Yes" : "No"}
          </label>
        ))}
      </span>
      {foot}
    </fieldset>
  )
}

interface GroupFieldProps extends LabelledProps {
  readonly head: ComponentChildren
  readonly foot: ComponentChildren
  readonly notes: string
}

/** A value of several, which can be folded away; what does not fit unfolds it. */
function GroupField({ label, head, foot, tools, notes, folds, ...editor }: GroupFieldProps) {
  const [isFolded, setFolded] = useState(false)
  const isOpen = !isFolded || editor.form.hasMisfitWithin?.(editor.path) === true
  return (
    <fieldset class="form-field group" aria-describedby={notes === "" ? undefined : notes}>
      <legend>{head}</legend>
      <span class="entry-tools">
        {folds === true ? (
          <button
            type="button"
            class="button square"
            aria-expanded={isOpen}
            aria-label={`${isOpen ? "Fold" : "Unfold"} ${label}`}
            onClick={() => setFolded(isOpen)}
          >
            <Icon name={isOpen ? "down" : "right"} />
          </button>
        ) : null}
        {tools}
      </span>
      {foot}
      {isOpen ? <ValueEditor {...editor} label={label} /> : <p class="folded">{previewOf(editor.value)}</p>}
    </fieldset>
  )
}

/** A folded value in one line. */
function previewOf(value: Draft): string {
  const text = JSON.stringify(value) ?? ""
  const shown = text.length > 120 ? `${text.slice(0, 119)}…` : text
  return isDraftArray(value) ? `${counted(value.length, "entry", "entries")} ${shown}` : shown
}

function isGroup(kind: string): boolean {
  return kind === "record" || kind === "variant" || kind === "array" || kind === "tuple" || kind === "union"
}

interface ValueProps extends EditorProps {
  /** The name of the field. */
  readonly label: string
  /** The control has no label element of its own. */
  readonly isUnlabelled?: boolean
  readonly notes?: string
}

function ValueEditor({ notes, isUnlabelled, ...props }: ValueProps) {
  const { form, path, type, value, onChange } = props
  const known = resolve(type, form.types)
  const id = fieldId(path, form.scope)
  const common = {
    id,
    "aria-invalid": form.misfit(path) !== undefined,
    "aria-describedby": notes === undefined || notes === "" ? undefined : notes,
    "aria-label": isUnlabelled === true ? `${props.label} ${showType(type, 40)}` : undefined,
  }
  switch (known.kind) {
    case "string":
      return (
        <textarea
          dir="auto"
          {...common}
          class="field"
          rows={1}
          value={typeof value === "string" ? value : ""}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )
    case "number":
    case "integer":
      return <NumberControl {...common} whole={known.kind === "integer"} value={value} onChange={onChange} />
    case "boolean":
      return (
        <input
          {...common}
          type="checkbox"
          role="switch"
          class="switch"
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      )
    case "enum":
      return (
        <select
          {...common}
          class="field"
          value={textOf(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {known.values.includes(textOf(value)) ? null : <option value={textOf(value)}>choose …</option>}
          {known.values.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )
    case "literal":
      return <input {...common} class="field mono" value={known.value} readOnly />
    case "null":
      return <input {...common} class="field mono" value="null" readOnly />
    case "file":
      return <FileControl {...common} value={value} onChange={onChange} />
    case "record":
      return <RecordEditor {...props} fields={known.fields} />
    case "variant":
      return <VariantEditor {...props} variant={known} />
    case "array":
      return <ListEditor {...props} element={known.element} fixed={known.length !== undefined} />
    case "tuple":
      return <TupleEditor {...props} elements={known.elements} />
    case "union":
      return <UnionEditor {...props} members={known.members} />
    default:
      return <JsonControl {...common} value={value} onChange={onChange} />
  }
}

function RecordEditor({ form, path, value, onChange, fields }: EditorProps & { readonly fields: readonly Field[] }) {
  const object: DraftObject = isDraftObject(value) ? value : {}
  if (fields.length === 0) return <p class="hint-text">No fields.</p>
  return (
    <div class="form-fields">
      {fields.map((field) => (
        <FieldEditor
          key={field.name}
          form={form}
          path={childPath(path, field.name)}
          label={field.name}
          doc={field.doc}
          type={field.type}
          value={object[field.name]}
          onChange={(next) => onChange({ ...object, [field.name]: next })}
        />
      ))}
    </div>
  )
}

function VariantEditor({ variant, ...props }: EditorProps & { readonly variant: VariantType }) {
  const { form, path, value, onChange } = props
  const object: DraftObject = isDraftObject(value) ? value : {}
  const tag = object[variant.tag]
  const chosen = variant.cases.find(({ name }) => name === tag) ?? (form.isForPeople ? undefined : variant.cases[0])
  const id = fieldId(childPath(path, variant.tag), form.scope)
  return (
    <div class="form-fields">
      <div class="form-field">
        <div class="form-label">
          <label for={id}>
            <span class="name">{variant.tag}</span> <span class="type">which case</span>
          </label>
        </div>
        <select
          id={id}
          class="field"
          value={chosen?.name ?? ""}
          aria-invalid={form.misfit(path) !== undefined}
          onChange={(event) => {
            const next = variant.cases.find(({ name }) => name === event.currentTarget.value)
            if (next === undefined) return
            const blank = blankIn(form, { kind: "record", fields: next.fields })
            // What the two cases have in common stays.
            const kept = Object.fromEntries(
              next.fields.flatMap(({ name }) => (Object.hasOwn(object, name) ? [[name, object[name]]] : [])),
            )
            onChange({ [variant.tag]: next.name, ...(isDraftObject(blank) ? blank : {}), ...kept })
          }}
        >
          {chosen === undefined ? <option value="">choose …</option> : null}
          {variant.cases.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {chosen === undefined || chosen.fields.length === 0 ? null : <RecordEditor {...props} fields={chosen.fields} />}
    </div>
  )
}

interface ListProps extends EditorProps {
  readonly element: Type
  /** The type says how many. */
  readonly fixed: boolean
}

/** The rest of a longer list is shown on request. */
const shownAtFirst = 20

function ListEditor({ form, path, value, onChange, element, fixed }: ListProps) {
  const items = isDraftArray(value) ? value : []
  const [showsAll, setShowsAll] = useState(false)
  const isWhole = showsAll || items.length <= shownAtFirst || form.hasMisfitWithin?.(path) === true
  const { keys, addId, tools } = useListEntries({ path, scope: form.scope, items, onChange })
  if (!fixed && resolve(element, form.types).kind === "file" && items.every(isFileOrNothing))
    return (
      <FileList form={form} path={path} items={items} onChange={onChange} tools={tools} keys={keys} addId={addId} />
    )
  return (
    <div class="form-fields list">
      {(isWhole ? items : items.slice(0, shownAtFirst)).map((item, at) => (
        <FieldEditor
          key={keys[at]}
          form={form}
          path={childPath(path, at)}
          label={String(at + 1)}
          type={element}
          value={item}
          folds
          onChange={(next) => onChange(items.with(at, next))}
          tools={fixed ? undefined : tools(at)}
        />
      ))}
      <div class="list-foot">
        {isWhole ? null : (
          <button type="button" class="button" onClick={() => setShowsAll(true)}>
            Show all {counted(items.length, "entry", "entries")}
          </button>
        )}
        {fixed ? null : (
          <button
            type="button"
            class="button outlined"
            id={addId}
            onClick={() => {
              setShowsAll(true)
              onChange([...items, blankIn(form, element)])
            }}
          >
            <Icon name="plus" />
            Add an entry
          </button>
        )}
      </div>
    </div>
  )
}

function isFileOrNothing(item: Draft): boolean {
  return item === undefined || isFileValue(item)
}

interface FileListProps extends Pick<EditorProps, "form" | "path" | "onChange"> {
  readonly items: readonly Draft[]
  readonly tools: (at: number) => ComponentChildren
  readonly keys: readonly number[]
  readonly addId: string
}

/** A list of files: those that were taken, and a zone that takes more. */
function FileList({ form, path, items, onChange, tools, keys, addId }: FileListProps) {
  return (
    <div class="form-fields list">
      {items.map((item, at) => {
        const misfit = form.misfit(childPath(path, at))
        return (
          <div key={keys[at]} class="taken-file" id={fieldId(childPath(path, at), form.scope)}>
            {isFileValue(item) ? <StoredFile file={item} isSmall /> : <span class="note">no file</span>}
            <span class="entry-tools">{tools(at)}</span>
            {misfit === undefined ? null : <p class="wrong-text">{misfit}</p>}
          </div>
        )
      })}
      <DropZone
        id={addId}
        isMany
        aria-invalid={form.misfit(path) !== undefined}
        aria-describedby={undefined}
        aria-label={`Add files to ${path}`}
        onFiles={(files) => onChange([...items.filter((item) => item !== undefined), ...files])}
      />
    </div>
  )
}

function TupleEditor({ form, path, value, onChange, elements }: EditorProps & { readonly elements: readonly Type[] }) {
  const items = isDraftArray(value) ? value : []
  return (
    <div class="form-fields">
      {elements.map((element, at) => (
        <FieldEditor
          key={at}
          form={form}
          path={childPath(path, at)}
          label={String(at + 1)}
          type={element}
          value={items[at]}
          onChange={(next) => onChange(elements.map((_, position) => (position === at ? next : items[position])))}
        />
      ))}
    </div>
  )
}

/** A select for which of the members is meant, and the control of that member. */
function UnionEditor({ members, ...props }: ValueProps & { readonly members: readonly Type[] }) {
  const { form, path, value, onChange } = props
  const [chosen, setChosen] = useState<number | undefined>(undefined)
  const found = memberOf(value, members, form.types)
  const at = chosen ?? Math.max(0, found === undefined ? 0 : members.indexOf(found))
  const member = members[at]
  const id = fieldId(`${path}?`, form.scope)
  const isNull = member === undefined || resolve(member, form.types).kind === "null"
  return (
    <div class="form-fields">
      <select
        id={id}
        class="field"
        aria-label={`Kind of ${path}`}
        value={String(at)}
        onChange={(event) => {
          const next = Number(event.currentTarget.value)
          const type = members[next]
          setChosen(next)
          if (type !== undefined) onChange(blankIn(form, type))
        }}
      >
        {members.map((type, position) => (
          <option key={showType(type, 40)} value={String(position)}>
            {resolve(type, form.types).kind === "null" ? "null (nothing)" : showType(type, 40)}
          </option>
        ))}
      </select>
      {isNull ? null : (
        <div role="group" aria-label={path} class="union-value">
          <ValueEditor {...props} isUnlabelled type={member} />
        </div>
      )}
    </div>
  )
}
