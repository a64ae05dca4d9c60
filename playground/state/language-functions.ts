// What the editor asks about a text besides its colours and problems: loaded later than the page, in one piece.

export { codeActions } from "../../src/editor/code-actions.ts"
export { complete } from "../../src/editor/complete.ts"
export { definition } from "../../src/editor/definition.ts"
export { hover } from "../../src/editor/hover.ts"
export { prepareRename, rename } from "../../src/editor/rename.ts"
export { signatureHelp } from "../../src/editor/signature-help.ts"
