/** The tool that carries the output where an API gets it by a forced tool call. */
export const answerTool = "give_answer"
