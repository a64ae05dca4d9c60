// Panes and dialogs that come later than the page, in one piece: several would compress worse.

export { EventsPane } from "../events/events-pane.tsx"
export { CompareDialog } from "../history/compare-dialog.tsx"
export { ReachPane } from "../reach/reach-pane.tsx"
export { ShareDialog } from "../share/share-dialog.tsx"
