import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import { announcement } from "../page/notices.ts"
import { KeyDialog } from "../shell/key-dialog.tsx"
import { openDialogs } from "../ui/dialog.tsx"
import { Notices } from "../ui/notices.tsx"
import { HealthPage } from "./health-page.tsx"
import { loadInbox } from "./inbox.ts"
import { LaterPage } from "./later-page.tsx"
import { Navigation } from "./navigation.tsx"
import { place } from "./place.ts"
import { RunsPage } from "./runs-page.tsx"
import { TriggersPage } from "./triggers-page.tsx"
import { WorkflowsPage } from "./workflows-page.tsx"

const inboxEveryMs = 10_000

export function App() {
  useEffect(() => {
    void loadInbox()
    const timer = setInterval(() => {
      if (!document.hidden) void loadInbox()
    }, inboxEveryMs)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <Navigation />
      <main class="console-page">
        <Page />
      </main>
      {openDialogs.value === 0 ? <Notices /> : null}
      <p class="visually-hidden" role="status" aria-live="polite">
        {announcement.value}
      </p>
      <KeyDialog />
    </>
  )
}

function Page(): ComponentChildren {
  switch (place.value.page) {
    case "runs":
      return <RunsPage />
    case "questions":
      return <LaterPage>{({ QuestionsPage }) => <QuestionsPage />}</LaterPage>
    case "workflows":
      return <WorkflowsPage />
    case "triggers":
      return <TriggersPage />
    case "budgets":
      return <LaterPage>{({ BudgetsPage }) => <BudgetsPage />}</LaterPage>
    case "scores":
      return <LaterPage>{({ ScoresPage }) => <ScoresPage />}</LaterPage>
    case "files":
      return <LaterPage>{({ FilesPage }) => <FilesPage />}</LaterPage>
    case "health":
      return <HealthPage />
  }
}
