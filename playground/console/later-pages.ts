export { BudgetsPage } from "./budgets-page.tsx"
export { QuestionsPage } from "./questions-page.tsx"
export { VersionsPane } from "./versions-pane.tsx"
export { RunView } from "./run-view.tsx"
