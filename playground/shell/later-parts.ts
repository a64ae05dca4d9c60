// Panes and dialogs that come later than the page, in one piece: several would compress worse.

export { ChatPane } from "../chat/chat-pane.tsx"
export { EventsPane } from "../events/events-pane.tsx"
export { CompareDialog } from "../history/compare-dialog.tsx"
export { HistoryPane } from "../history/history-pane.tsx"
export { CancelDialog } from "../run/cancel-dialog.tsx"
export { QuestionsPane } from "../questions/questions-pane.tsx"
export { ReachPane } from "../reach/reach-pane.tsx"
export { ShareDialog } from "../share/share-dialog.tsx"
