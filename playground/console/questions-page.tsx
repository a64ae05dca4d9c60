import { useEffect } from "preact/hooks"
import { sending } from "../questions/open-questions.ts"
import { QuestionCard } from "../questions/questions-pane.tsx"
import { counted } from "../ui/show.ts"
import { inbox, inboxTrouble, loadInbox } from "./inbox.ts"
import { follow } from "./navigation.tsx"
import { addressOf, changed, goTo, place } from "./place.ts"

const own = "Your runs"

/** The questions that the caller may answer, by the group that is asked. */
export function QuestionsPage() {
  const isSending = sending.value.size > 0
  // An answer that has arrived leaves the inbox.
  useEffect(() => {
    if (!isSending) void loadInbox()
  }, [isSending])
  const all = inbox.value
  if (inboxTrouble.value !== null) {
    return (
      <div class="empty" role="alert">
        <p>{inboxTrouble.value}</p>
        <button type="button" class="button outlined" onClick={() => void loadInbox()}>
          Try again
        </button>
      </div>
    )
  }
  if (all === null) return <p class="empty">Loading …</p>
  if (all.length === 0) {
    return (
      <p class="empty">
        No open questions. A workflow asks people with <code>ask</code>, with <code>approval</code> on a tool and with{" "}
        <code>elicitation</code> on an MCP server; their questions appear here for whoever may answer.
      </p>
    )
  }
  const groups = [...new Set(all.map(({ to }) => to ?? own))].toSorted()
  const wanted = place.value.params.get("to")
  const shown = wanted === null ? all : all.filter(({ to }) => (to ?? own) === wanted)
  return (
    <div class="console-split">
      <nav class="pane console-side" aria-label="Groups">
        <ul>
          <GroupLink name={null} label="All" count={all.length} isCurrent={wanted === null} />
          {groups.map((name) => (
            <GroupLink
              key={name}
              name={name}
              label={name}
              count={all.filter(({ to }) => (to ?? own) === name).length}
              isCurrent={wanted === name}
            />
          ))}
        </ul>
      </nav>
      <section class="pane" aria-label="Open questions">
        <p class="list-line note">{counted(shown.length, "open question")}, oldest first</p>
        <div class="scrolls padded questions">
          {shown.map((question) => (
            <div key={question.id}>
              <QuestionCard question={question} />
              <a
                class="note"
                href={addressOf("runs", new URLSearchParams({ run: question.run_id }))}
                onClick={(event) => follow(event, () => goTo("runs", new URLSearchParams({ run: question.run_id })))}
              >
                The run that asks
              </a>
            </div>
          ))}
        </div>
      </section>
    </div>
  )
}

interface GroupProps {
  readonly name: string | null
  readonly label: string
  readonly count: number
  readonly isCurrent: boolean
}

function GroupLink({ name, label, count, isCurrent }: GroupProps) {
  const params = changed({ to: name })
  return (
    <li>
      <a
        href={addressOf("questions", params)}
        aria-current={isCurrent ? "page" : undefined}
        onClick={(event) => follow(event, () => goTo("questions", params))}
      >
        <span dir="auto">{label}</span> <span class="note">{count}</span>
      </a>
    </li>
  )
}
