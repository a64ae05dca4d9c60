import { answerTarget } from "./answer-target.ts"
import { runTarget } from "./run-target.ts"
import { demoTarget, publishedTarget, typeTarget } from "./schema-targets.ts"
import { secretTarget } from "./secret-target.ts"
import { sourceTarget } from "./source-target.ts"
import type { Target } from "./target.ts"

export const targets: readonly Target[] = [
  sourceTarget,
  typeTarget,
  runTarget,
  publishedTarget,
  demoTarget,
  secretTarget,
  answerTarget,
]
