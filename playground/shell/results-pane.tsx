import { batchesIn } from "../../src/log/run-state.ts"
import { chatFields } from "../chat/chat.ts"
import { DetailsPane } from "../details/details-pane.tsx"
import { SinceBefore } from "../history/since-before.tsx"
import { keptRuns } from "../history/kept-runs.ts"
import { OutputPane } from "../output/output-pane.tsx"
import type { ResultTab } from "../page/layout.ts"
import { narrow, positions, resultTab } from "../page/layout.ts"
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
          { name: "reach", label: "Reach" },
        ]}
      />
      {tab === "timeline" || tab === "output" ? <SinceBefore /> : null}
      {answerFirst ? <DetailsPane /> : null}
      <section class="pane" aria-label="Results">
        {tab === "timeline" || tab === "output" ? <RunFacts /> : null}
        <TabPanel id="results" name={tab} class="column">
          {tab === "timeline" ? (
            <TimelinePane />
          ) : tab === "chat" ? (
            <Loaded>{({ ChatPane }) => <ChatPane />}</Loaded>
          ) : tab === "questions" ? (
            <Loaded>{({ QuestionsPane }) => <QuestionsPane />}</Loaded>
          ) : tab === "output" ? (
            <OutputPane />
          ) : tab === "events" ? (
            <Loaded>{({ EventsPane }) => <EventsPane />}</Loaded>
          ) : tab === "reach" ? (
            <Loaded>{({ ReachPane }) => <ReachPane />}</Loaded>
          ) : (
            <Loaded>{({ HistoryPane }) => <HistoryPane />}</Loaded>
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
  if (narrow.value && tab === "history") return true
  if (!showsAnswer.value) return false
  if (tab === "output") return true
  const run = watchWhole()
  return tab === "questions" ? run?.isOver !== true : (tab === "history" || tab === "events") && run === null
}

function eventCount(): number {
  const run = watchShown()
  return run === null ? 0 : run.events.length - run.deltas
}

function RunFacts() {
  return (
    <>
      <RunLimits />
      <RunBatches />
    </>
  )
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

/** The batches of model calls of the shown run: how many of their items have their answers. */
function RunBatches() {
  const run = watchShown()
  const batches = run === null ? [] : batchesIn(run.state)
  if (batches.length === 0) return null
  return (
    <ul class="run-limits" aria-label="Batches of this run">
      {batches.map(({ id, agent, status, completed, failed, total }) => (
        <li key={id} title={id}>
          <span class="limit-name">{agent}</span> batch: {completed} of {total}
          {failed > 0 ? `, ${failed} failed` : ""} ({status === "ended" ? "ended" : "with the provider"})
          <span class="limit-bar" aria-hidden="true" style={{ "--used": `${((completed + failed) / total) * 100}%` }} />
        </li>
      ))}
    </ul>
  )
}
