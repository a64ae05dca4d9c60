export { QuestionsPage } from "./questions-page.tsx"
export { RunView } from "./run-view.tsx"
