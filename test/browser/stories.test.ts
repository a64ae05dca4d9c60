import { describe } from "node:test"
import { atStrength } from "../support/strength.ts"
import { openPlayground } from "./open-playground.ts"
import { servedFolder } from "./served.ts"
import { chat } from "./stories/chat.ts"
import { connection } from "./stories/connection.ts"
import { editing } from "./stories/editing.ts"
import { help } from "./stories/help.ts"
import { history } from "./stories/history.ts"
import { lookingBack } from "./stories/looking-back.ts"
import { media } from "./stories/media.ts"
import { questions } from "./stories/questions.ts"
import { reach } from "./stories/reach.ts"
import { requests } from "./stories/requests.ts"
import { runs } from "./stories/runs.ts"
import { served } from "./stories/served.ts"
import { sharing } from "./stories/sharing.ts"
import { tracing } from "./stories/tracing.ts"
import { views } from "./stories/views.ts"

// What most people do in the playground. All stories share one process, one service and one browser: starting these takes as long as
// several stories. The soak repeats them with motion and in the dark theme; all other stories are in the files `*.soak.test.ts`.

const playground = await openPlayground(
  { WIRE_WORKFLOWS: servedFolder() },
  atStrength({ reducedMotion: "reduce" }, { colorScheme: "dark" }),
)

describe("the main stories", { concurrency: 2 }, () => {
  for (const stories of [
    runs,
    requests,
    help,
    editing,
    connection,
    questions,
    history,
    sharing,
    served,
    views,
    chat,
    reach,
    tracing,
    lookingBack,
    media,
  ])
    stories(playground)
})
