import { anthropicApi } from "../../adapters/model-apis/anthropic.ts"
import { chatApi } from "../../adapters/model-apis/chat.ts"
import { googleApi } from "../../adapters/model-apis/google.ts"
import { speechApi } from "../../adapters/model-apis/speech.ts"
import { transcriptionApi } from "../../adapters/model-apis/transcription.ts"
import type { ModelApi } from "../../adapters/model-turn/model-api.ts"
import { responsesApi } from "../../adapters/model-apis/responses.ts"
import type { ApiName } from "../../check/provider-kinds.ts"

const apis: Readonly<Record<ApiName, ModelApi>> = {
  responses: responsesApi,
  chat: chatApi,
  anthropic: anthropicApi,
  google: googleApi,
  speech: speechApi,
  transcription: transcriptionApi,
}

/** The APIs by which models are called. */
export function modelApi(name: ApiName): ModelApi {
  return apis[name]
}
