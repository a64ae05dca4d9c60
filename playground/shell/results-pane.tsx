import { ChatPane } from "../chat/chat-pane.tsx"
import { chatFields } from "../chat/chat.ts"
import { DetailsPane } from "../details/details-pane.tsx"
import { HistoryPane } from "../history/history-pane.tsx"
import { SinceBefore } from "../history/since-before.tsx"
import { keptRuns } from "../history/kept-runs.ts"
import { OutputPane } from "../output/output-pane.tsx"
import type { ResultTab } from "../page/layout.ts"
import { narrow, positions, resultTab } from "../page/layout.ts"
import { QuestionsPane } from "../questions/questions-pane.tsx"
import { openQuestions } from "../questions/open-questions.ts"
import { watchShown, watchWhole } from "../shown-run/shown-run.ts"
import { showsAnswer } from "../shown-run/selection.ts"
import { TimelinePane } from "../timeline/timeline-pane.tsx"
import { Loaded } from "./loaded.tsx"
import { PaneDivider } from "./pane-divider.tsx"
import { limitFacts } from "../ui/limit-words.ts"
import { TabPanel, Tabs } from "../ui/tabs.tsx"

/** What a run has done, by tab, with the details of the selected step beside it. */
export function ResultsPane() {
  const tab = resultTab.value
  const hasQuestions = (watchWhole()?.state.questions.length ?? 0) > 0
  const alone = isAlone(tab)
  // On a telephone the answer comes before how it came about.
  const answerFirst = narrow.value && tab === "timeline" && showsAnswer.value && watchWhole()?.isOver === true
  return (
    <div
      class={`results${alone ? " alone" : ""}${answerFirst ? " answer-first" : ""}`}
      style={{ "--share": `${positions.value.details}%` }}
    >
      <Tabs<ResultTab>
        label="Results"
        id="results"
        current={tab}
        onSelect={(name) => (resultTab.value = name)}
        items={[
          ...(chatFields.value !== undefined || tab === "chat" ? [{ name: "chat" as const, label: "Chat" }] : []),
          { name: "timeline", label: "Timeline" },
          ...(hasQuestions || tab === "questions"
            ? [{ name: "questions" as const, label: "Questions", count: openQuestions.value.length }]
            : []),
          { name: "output", label: "Output" },
          { name: "events", label: "Events", count: eventCount() },
          { name: "history", label: "History", count: keptRuns.value.length },
          { name: "runs", label: "Runs" },
          { name: "triggers", label: "Triggers" },
          { name: "reach", label: "Reach" },
        ]}
      />
      {tab === "timeline" || tab === "output" ? <SinceBefore /> : null}
      {answerFirst ? <DetailsPane /> : null}
      <section class="pane" aria-label="Results">
        {tab === "timeline" || tab === "output" ? <RunLimits /> : null}
        <TabPanel id="results" name={tab} class="column">
          {tab === "timeline" ? (
            <TimelinePane />
          ) : tab === "chat" ? (
            <ChatPane />
          ) : tab === "questions" ? (
            <QuestionsPane />
          ) : tab === "output" ? (
            <OutputPane />
          ) : tab === "events" ? (
            <Loaded>{({ EventsPane }) => <EventsPane />}</Loaded>
          ) : tab === "runs" ? (
            <Loaded>{({ RunsPane }) => <RunsPane />}</Loaded>
          ) : tab === "triggers" ? (
            <Loaded>{({ TriggersPane }) => <TriggersPane />}</Loaded>
          ) : tab === "reach" ? (
            <Loaded>{({ ReachPane }) => <ReachPane />}</Loaded>
          ) : (
            <HistoryPane />
          )}
        </TabPanel>
      </section>
      {alone || answerFirst ? null : (
        <>
          <PaneDivider name="details" label="Width of the results" direction="columns" />
          <DetailsPane />
        </>
      )}
    </div>
  )
}

/**
 * Whether a tab has all of the room: the whole result is in view already, nothing is selected that the details could show, or, on a telephone,
 * a list of runs needs the room.
 */
function isAlone(tab: ResultTab): boolean {
  if (tab === "chat" || tab === "reach") return true
  const isList = tab === "history" || tab === "runs" || tab === "triggers"
  if (narrow.value && isList) return true
  if (!showsAnswer.value) return false
  if (tab === "output" || tab === "triggers") return true
  const run = watchWhole()
  return tab === "questions" ? run?.isOver !== true : (isList || tab === "events") && run === null
}

function eventCount(): number {
  const run = watchShown()
  return run === null ? 0 : run.events.length - run.deltas
}

/** The limits of the shown run, and how much of each is used. */
function RunLimits() {
  const limits = watchShown()?.state.limits ?? null
  if (limits === null) return null
  return (
    <ul class="run-limits" aria-label="Limits of this run">
      {limitFacts(limits).map(({ name, text, share }) => (
        <li key={name} class={share === 1 ? "is-used-up" : undefined}>
          <span class="limit-name">{name}</span> {text}
          <span class="limit-bar" aria-hidden="true" style={{ "--used": `${share * 100}%` }} />
        </li>
      ))}
    </ul>
  )
}
