import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { formIn } from "../../src/log/elicitation-answer.ts"
import type { Question } from "../../src/log/events.ts"
import { answerProgress } from "../../src/log/reduce/answer-progress.ts"
import { filesInValue } from "../../src/types/files-in-value.ts"
import { resolve } from "../../src/types/relations.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { atField } from "../form/at-field.ts"
import { FieldEditor, missing } from "../form/field-editor.tsx"
import { toJson } from "../form/draft.ts"
import { emptyTexts } from "../form/empty-texts.ts"
import { answerType, cardId, draftOf, refusals, sendAnswer, sending, setDraft } from "./open-questions.ts"
import { watchWhole } from "../shown-run/shown-run.ts"
import { Icon } from "../ui/icon.tsx"
import { ExactJson, ExactText } from "../ui/exact-json.tsx"
import { JsonTree } from "../values/json-tree.tsx"
import { StoredFile } from "../values/stored-file.tsx"
import { showMoment } from "../ui/show.ts"
import { VisibleText } from "../ui/visible-text.tsx"
import type { StateName } from "../ui/state-words.ts"
import { StateMark } from "../ui/state-mark.tsx"

/** The questions of the shown run: the open ones first, each with its form, then what became of the others. */
export function QuestionsPane() {
  const questions = watchWhole()?.state.questions ?? []
  if (questions.length === 0) {
    return (
      <p class="empty">
        No questions. A workflow asks people with ask, with approval on a tool and with elicitation on an MCP server;
        their cards appear here.
      </p>
    )
  }
  const open = questions.filter(({ status }) => status === "open")
  const closed = questions.filter(({ status }) => status !== "open")
  return (
    <div class="scrolls padded questions">
      {answerProgress(questions).map(({ name, settled, total }) => (
        <p key={name} class="note">
          {name}: {settled} of {total} answered
        </p>
      ))}
      {[...open, ...closed].map((question) =>
        question.status !== "open" ? (
          <ClosedCard key={question.id} question={question} />
        ) : (
          <QuestionCard key={question.id} question={question} />
        ),
      )}
    </div>
  )
}

/** An open question with its form, or with the buttons of an approval. */
export function QuestionCard({ question }: { readonly question: Question }) {
  return question.kind === "approval" ? <ApprovalCard question={question} /> : <AskCard question={question} />
}

function AskCard({ question }: { readonly question: Question }) {
  const [tried, setTried] = useState(false)
  const { type, types } = answerType(question)
  const draft = draftOf(question)
  const misfits = validateValue(draft, type, types, "answer")
  const empty = emptyTexts(draft, type, types, "answer")
  const record = resolve(type, types)
  const misfit = (path: string): string | undefined =>
    !tried
      ? undefined
      : empty.includes(path)
        ? missing("string")
        : atField(misfits.find((one) => one.path === path)?.message, path)
  const form = { types, misfit, scope: `${question.id}-`, isForPeople: true }
  const isServers = question.kind === "elicitation"
  const isSending = sending.value.has(question.id)
  const submit = (event: Event): void => {
    event.preventDefault()
    setTried(true)
    if (misfits.length === 0 && empty.length === 0) {
      const answer = toJson(draft)
      void sendAnswer(question, isServers ? accepted(question, answer) : answer)
      return
    }
    const card = document.getElementById(cardId(question))
    requestAnimationFrame(() => card?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }
  return (
    <Card question={question} state="asking" title={titleOf(question)}>
      {isServers ? <FromServer question={question} /> : <Show question={question} />}
      <form class="question-form" onSubmit={submit} noValidate>
        <div class="form-fields">
          {record.kind !== "record"
            ? null
            : record.fields.map((field) => (
                <FieldEditor
                  key={field.name}
                  form={form}
                  path={`answer.${field.name}`}
                  label={field.name}
                  doc={field.doc}
                  type={field.type}
                  value={draft[field.name]}
                  onChange={(value) => setDraft(question, { ...draft, [field.name]: value })}
                />
              ))}
        </div>
        <Refusal question={question} />
        <div class="question-buttons">
          <button type="submit" class="button primary" disabled={isSending}>
            {isServers ? "Accept" : "Answer"}
          </button>
          {isServers
            ? (["decline", "cancel"] as const).map((action) => (
                <button
                  key={action}
                  type="button"
                  class="button outlined"
                  disabled={isSending}
                  onClick={() => void sendAnswer(question, { action })}
                >
                  {action === "decline" ? "Decline" : "Cancel"}
                </button>
              ))
            : null}
        </div>
      </form>
    </Card>
  )
}

function accepted({ schema }: Question, content: JsonValue): JsonObject {
  return formIn(schema) === null ? { action: "accept" } : { action: "accept", content }
}

/** Who asks, and the address that a person is to open, with the host by itself: it says where an address leads. */
function FromServer({ question }: { readonly question: Question }) {
  const { show } = question
  const { host, url } = isJsonObject(show) ? show : {}
  return (
    <dl class="question-facts">
      <Fact name="Server" value={question.server ?? ""} />
      <Fact name="Tool" value={question.tool ?? question.name} />
      {typeof host === "string" && typeof url === "string" ? (
        <>
          <dt>Host</dt>
          <dd>
            <strong>
              <ExactText value={host} />
            </strong>
          </dd>
          <Fact name="Address" value={url} />
        </>
      ) : null}
    </dl>
  )
}

function ApprovalCard({ question }: { readonly question: Question }) {
  const [note, setNote] = useState("")
  const isSending = sending.value.has(question.id)
  const noteId = `${cardId(question)}-note`
  const decide = (approve: boolean): void => {
    void sendAnswer(question, { approve, note: note.trim() === "" ? null : note })
  }
  return (
    <Card question={question} state="asking" title={titleOf(question)}>
      <Show question={question} />
      <dl class="question-facts">
        <Fact name="Tool" value={question.tool ?? question.name} />
        <Fact name="Server" value={question.server ?? ""} />
        <Fact name="Endpoint" value={question.endpoint ?? ""} />
        <Fact name="Digest" value={question.digest ?? ""} />
      </dl>
      <h3 class="question-part">Arguments</h3>
      <ExactJson label={`Arguments of ${question.name}`} value={question.arguments ?? {}} />
      <div class="form-field">
        <div class="form-label">
          <label for={noteId}>
            <span class="name">Note</span> <span class="type">may be left empty</span>
          </label>
        </div>
        <textarea
          dir="auto"
          id={noteId}
          class="field"
          rows={1}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </div>
      <Refusal question={question} />
      <div class="question-buttons">
        <button type="button" class="button primary" disabled={isSending} onClick={() => decide(true)}>
          <Icon name="completed" />
          Approve
        </button>
        <button type="button" class="button outlined" disabled={isSending} onClick={() => decide(false)}>
          <Icon name="close" />
          Decline
        </button>
      </div>
    </Card>
  )
}

/** What became of a question. */
function ClosedCard({ question }: { readonly question: Question }) {
  const { status, answer, answered_by } = question
  const who = [answered_by?.by, answered_by?.caller].filter((name) => name !== null && name !== undefined).join(", ")
  const state: StateName = status === "answered" ? "completed" : status === "expired" ? "failed" : "cancelled"
  return (
    <Card
      question={question}
      state={state}
      title={titleOf(question)}
      text={who === "" ? status : `${status} by ${who}`}
    >
      {answer === undefined ? null : <JsonTree label={`Answer to ${titleOf(question)}`} value={answer} open={2} />}
      <Refusal question={question} />
    </Card>
  )
}

interface CardProps {
  readonly question: Question
  readonly state: StateName
  readonly title: string
  readonly text?: string
  readonly children: ComponentChildren
}

function Card({ question, state, title, text, children }: CardProps) {
  const id = cardId(question)
  const isOpen = question.status === "open"
  return (
    <article class={`question is-${state}`} id={id} tabIndex={-1} aria-labelledby={`${id}-title`}>
      <header class="question-head">
        <h2 id={`${id}-title`}>{title}</h2>
        <StateMark state={state} text={isOpen ? waitingFor(question) : text} />
        {isOpen || question.to === null ? null : (
          <span class="note">
            to <VisibleText text={question.to} />
          </span>
        )}
        {isOpen ? <Expiry at={question.expires_at} /> : null}
      </header>
      <p class="question-text" dir="auto">
        <VisibleText text={question.question} isAlone />
      </p>
      {children}
    </article>
  )
}

function waitingFor({ to }: Question): ComponentChildren {
  return to === null ? (
    "waiting for an answer"
  ) : (
    <>
      waiting for <VisibleText text={to} />
    </>
  )
}

/** `ask.review[2]`, `approval of tool.pay`, `question of mcp.shop in tool.pay` */
function titleOf({ kind, name, iteration, server }: Question): string {
  const index = iteration === undefined ? "" : `[${iteration}]`
  if (kind === "ask") return `ask.${name}${index}`
  return kind === "approval"
    ? `approval of tool.${name}${index}`
    : `question of mcp.${server ?? ""} in tool.${name}${index}`
}

function Expiry({ at }: { readonly at: string }) {
  return (
    <time class="note" dateTime={at}>
      open until {showMoment(Date.parse(at))}
    </time>
  )
}

/** More are in the JSON above them. */
const maxFiles = 20

function Show({ question }: { readonly question: Question }) {
  const { show } = question
  if (show === null) return null
  if (typeof show === "string") {
    return (
      <p class="question-show" dir="auto">
        <VisibleText text={show} isAlone />
      </p>
    )
  }
  const files = filesInValue(show).slice(0, maxFiles)
  return (
    <>
      <div class="question-show" tabIndex={0}>
        <ExactJson label={`Shown with ${titleOf(question)}`} value={show} />
      </div>
      {files.map((file) => (
        <StoredFile key={file.file_id} file={file} />
      ))}
    </>
  )
}

function Refusal({ question }: { readonly question: Question }) {
  const messages = refusals.value[question.id]
  return messages === undefined ? null : (
    <div role="alert">
      {messages.map((message, at) => (
        <p key={at} class="wrong-text" dir="auto">
          <VisibleText text={message} isAlone />
        </p>
      ))}
    </div>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <ExactText value={value} />
      </dd>
    </>
  )
}
