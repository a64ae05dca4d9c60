" Vim syntax file for Wireworks workflows. The language server colours more; this serves until it answers, and without it.
" `npm run docs` writes it from the tables of the language.

if exists("b:current_syntax")
  finish
endif

syntax match wireDeclaration /^\s*\zs\%(import\|workflow\|input\|secrets\|schema\|provider\|model\|mcp\|api\|tool\|resource\|prompt\|from\|function\|dynamic\|agent\|ask\|wait\|limits\|chat\|release\|score\|schedule\|webhook\|output\|tests\?\|given\|expect\)\>/
syntax keyword wireKeyword for in when by descending else contains as query body
syntax keyword wireKeyword header status match call read render asset compact maybe map
syntax keyword wireKeyword untrusted private trust because enum variant
syntax keyword wireType string boolean number float integer object file
syntax keyword wireConstant true false null
syntax match wireProperty /^\s*\zs\%(after\|agree_on\|algorithm\|api_key\|approval\|assets\|at_most\|audience\|auth\|batch\|bindings\|by\|cached\|catch_up\|citations\|cleared\|client_auth\|client_id\|client_secret\|concurrency\|content\|context\|cost\|cron\|data\|description\|dynamic\|elicitation\|encoding\|endpoint\|event\|expires_seconds\|extra\|file\|files\|frequency_penalty\|gives\|header\|headers\|history\|hosted\|hosted_tools\|id\|idempotent\|inference\|input\|instruction\|issuer\|judge\|keep_seconds\|key\|key_id\|limits\|max_calls\|max_retries\|max_steps\|max_tokens\|media_type\|message\|messages\|model\|model_calls\|name\|next\|nulls\|of\|on_expiry\|on_failure\|output\|output_retries\|outputs\|overlap\|pass_rate\|pin\|prefill\|prefix\|presence_penalty\|price\|private_key\|prompt_cache\|question\|rate\|reasoning_effort\|repeat\|repeat_penalty\|reply\|reply_within_seconds\|requests_per_minute\|require\|requires\|resource\|response_format\|retry_base_delay_ms\|sample\|samples\|scopes\|seconds\|secret\|secrets\|seed\|send\|shadow\|share\|show\|stop\|stop_when\|system\|temperature\|time_seconds\|timeout_seconds\|timezone\|title\|to\|token_endpoint\|tokens\|tokens_per_minute\|tool_calls\|top_k\|top_p\|type\|until\|uses\|value\|verbosity\|verify\|when\|wire_api\|within_hours\|written\)\>\ze\s*[:{]/
syntax match wireFunction /\<\%(length\|lower\|upper\|trim\|split\|lines\|join\|replace\|starts_with\|ends_with\|slice\|at\|text\|json\|parse_json\|csv\|parse_csv\|number\|fixed\|abs\|round\|floor\|ceil\|sum\|min\|max\|average\|first\|last\|reverse\|unique\|flatten\|concat\|chunks\|pieces\|group_by\|count_by\|zip\|range\|any\|all\|keys\|values\|entries\|from_entries\|merge\|add_days\|days_between\|weekday\|add_seconds\|seconds_between\|format_date\|date_of\|matches\|find\|find_all\|replace_all\|sha256\|base64\|from_base64\|url_encode\|make_file\|text_of\|failure\|rounds\)\>\ze(/
syntax match wireNumber /\<\d[0-9_]*\%(\.\d\+\)\?\%([eE][+-]\?\d\+\)\?\>/
syntax match wireOperator /[=!<>]=\|&&\|||\|??\|?\.\|[<>!+*\/%|#-]/
syntax match wireComment /\/\/.*$/ contains=@Spell
syntax match wireDoc /\/\/\/.*$/ contains=@Spell
syntax match wireEscape /\\\%(u{\x\+}\|.\)/ contained
syntax region wireInterpolation matchgroup=wireDelimiter start=/{{/ end=/}}/ contained contains=TOP
syntax region wireString start=/"/ skip=/\\./ end=/"/ oneline contains=wireEscape,wireInterpolation,@Spell
syntax region wireString start=/"""/ end=/"""/ contains=wireEscape,wireInterpolation,@Spell keepend

highlight default link wireDeclaration Keyword
highlight default link wireKeyword Statement
highlight default link wireType Type
highlight default link wireConstant Constant
highlight default link wireProperty Identifier
highlight default link wireFunction Function
highlight default link wireNumber Number
highlight default link wireOperator Operator
highlight default link wireComment Comment
highlight default link wireDoc SpecialComment
highlight default link wireEscape SpecialChar
highlight default link wireDelimiter Delimiter
highlight default link wireString String

let b:current_syntax = "wire"
