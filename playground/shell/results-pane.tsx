import { DetailsPane } from "../details/details-pane.tsx"
import { EventsPane } from "../events/events-pane.tsx"
import { HistoryPane } from "../history/history-pane.tsx"
import { keptRuns } from "../state/history.ts"
import { OutputPane } from "../output/output-pane.tsx"
import { Fault } from "../output/fault.tsx"
import type { ResultTab } from "../state/layout.ts"
import { positions, resultTab } from "../state/layout.ts"
import { QuestionsPane } from "../questions/questions-pane.tsx"
import { openQuestions } from "../state/questions.ts"
import { watchShown } from "../state/runs.ts"
import { RunsPane } from "../runs/runs-pane.tsx"
import { TimelinePane } from "../timeline/timeline-pane.tsx"
import { Divider } from "./divider.tsx"
import { TabPanel, Tabs } from "../ui/tabs.tsx"

/** What a run has done, by tab, with the details of the selected step beside it. */
export function ResultsPane() {
  const tab = resultTab.value
  const hasQuestions = (watchShown()?.state.questions.length ?? 0) > 0
  return (
    <div class="results" style={{ "--share": `${positions.value.details}%` }}>
      <section class="pane" aria-label="Results">
        <Tabs<ResultTab>
          label="Results"
          id="results"
          current={tab}
          onSelect={(name) => (resultTab.value = name)}
          items={[
            { name: "timeline", label: "Timeline" },
            ...(hasQuestions || tab === "questions"
              ? [{ name: "questions" as const, label: "Questions", count: openQuestions.value.length }]
              : []),
            { name: "output", label: "Output" },
            { name: "events", label: "Events", count: eventCount() },
            { name: "history", label: "History", count: keptRuns.value.length },
            { name: "runs", label: "Runs" },
          ]}
        />
        <TabPanel id="results" name={tab} class="column">
          {tab === "timeline" ? (
            <>
              <RunFault />
              <TimelinePane />
            </>
          ) : tab === "questions" ? (
            <QuestionsPane />
          ) : tab === "output" ? (
            <OutputPane />
          ) : tab === "events" ? (
            <EventsPane />
          ) : tab === "runs" ? (
            <RunsPane />
          ) : (
            <HistoryPane />
          )}
        </TabPanel>
      </section>
      <Divider name="details" label="Width of the results" direction="columns" />
      <DetailsPane />
    </div>
  )
}

function eventCount(): number {
  return watchShown()?.events.length ?? 0
}

/** A failed run shows its sentence first. */
function RunFault() {
  const run = watchShown()
  const error = run?.refused ?? run?.state.error ?? null
  return error === null ? null : <Fault error={error} run={run} />
}
