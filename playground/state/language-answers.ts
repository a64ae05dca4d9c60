import { later } from "./later.ts"

/** Completion, hover, definition, rename, signatures and quick fixes. */
export const languageAnswers = later(() => import("./language-functions.ts"))
