import { useState } from "preact/hooks"
import { showQuestions } from "../questions/open-questions.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { watchLive, watchShown } from "../shown-run/shown-run.ts"
import { chatFields, exchanges, forget, replyOf, send, showRun, whyNot, type Exchange } from "./chat.ts"

/** A conversation with a workflow that has a `chat` block: each reply is a run, one click away. */
export function ChatPane() {
  watchShown()
  watchLive()
  const chat = chatFields.value
  const [text, setText] = useState("")
  const reason = whyNot()
  const submit = (event: Event): void => {
    event.preventDefault()
    if (text.trim() === "" || reason !== undefined) return
    send(text)
    setText("")
  }
  return (
    <div class="column chat">
      <ol class="scrolls padded messages" tabIndex={0} aria-label="Conversation" aria-live="polite">
        {exchanges.value.length === 0 ? (
          <li class="empty">
            Write a message to the workflow. Each reply is a run of it, with the conversation so far; its other inputs
            come from the form.
          </li>
        ) : null}
        {exchanges.value.map((exchange, index) => (
          <Turn key={index} exchange={exchange} reply={chat?.reply ?? ""} />
        ))}
      </ol>
      <form class="say" onSubmit={submit}>
        <textarea
          dir="auto"
          class="field"
          aria-label="Message"
          placeholder="Write a message, Enter sends it"
          rows={2}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey) submit(event)
          }}
        />
        <button type="submit" class="button primary" disabled={reason !== undefined || text.trim() === ""}>
          Send
        </button>
        <button type="button" class="button" disabled={exchanges.value.length === 0} onClick={forget}>
          New chat
        </button>
      </form>
      {reason === undefined ? null : <p class="note padded">{reason}</p>}
    </div>
  )
}

function Turn({ exchange: { message, run }, reply }: { readonly exchange: Exchange; readonly reply: string }) {
  return (
    <li>
      <p class="message user" dir="auto">
        {message}
      </p>
      <div class="message assistant">
        <Reply run={run} reply={reply} />
        <button type="button" class="button show-run" onClick={() => showRun(run)}>
          Show the run
        </button>
      </div>
    </li>
  )
}

function Reply({ run, reply }: { readonly run: RunView; readonly reply: string }) {
  // The run is the same object all along: its news are signalled.
  watchShown()
  const error = run.refused ?? run.state.error
  if (error !== null) return <p class="fault">{error.message}</p>
  if (run.state.status === "cancelled") return <p class="note">Cancelled.</p>
  if (run.state.status === "waiting") {
    return (
      <p>
        {run.state.questions.find(({ status }) => status === "open")?.question ?? "The run waits for people."}{" "}
        <button
          type="button"
          class="button outlined"
          onClick={() => {
            showRun(run)
            showQuestions()
          }}
        >
          Answer
        </button>
      </p>
    )
  }
  const text = replyOf(run, reply)
  return (
    <p class="reply" dir="auto">
      {text ?? "…"}
    </p>
  )
}
