// Simple syntax highlighting: keywords, strings, numbers and comments. Everything else stays plain.

const COMMON = {
  slashComment: ['comment', /\/\/[^\n]*|\/\*[\s\S]*?\*\//y],
  hashComment: ['comment', /(?<=^|\s)#[^\n]*/my],
  texts: ['text', /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/y],
  number: ['number', /\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b/y],
};

const words = (list) => ['word', new RegExp(`(?<![.\\w-])(?:${list.replaceAll(' ', '|')})\\b`, 'y')];

const JAVASCRIPT = [
  COMMON.slashComment,
  ['text', /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/y],
  words(
    'import export from const let var await async function return new if else for of in throw class default as type',
  ),
  ['constant', /\b(?:true|false|null|undefined)\b/y],
  ['name', /[A-Za-z_$][\w$]*(?=\()/y],
  ['plain', /[A-Za-z_$][\w$]*/y],
  COMMON.number,
];

const C_LIKE = (list) => [
  COMMON.slashComment,
  COMMON.texts,
  words(list),
  ['constant', /\b(?:true|false|null|None|Some|Ok)\b/y],
  ['name', /[A-Za-z_]\w*!?(?=\()/y],
  ['plain', /[A-Za-z_]\w*/y],
  COMMON.number,
];

const RULES = {
  js: JAVASCRIPT,
  ts: JAVASCRIPT,
  json: [
    ['name', /"(?:\\.|[^"\\\n])*"(?=\s*:)/y],
    COMMON.texts,
    ['constant', /\b(?:true|false|null)\b/y],
    ['number', /-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b/y],
  ],
  sh: [
    COMMON.hashComment,
    ['text', /"(?:\\[\s\S]|[^"\\])*"|'[^']*'/y],
    ['constant', /\$\w+|\$\{[^}]*\}/y],
    ['option', /(?<=\s)--?[A-Za-z][\w-]*/y],
    words('export for do done if then else fi while in set source'),
    ['name', /(?<=^|[|&;(]\s*)[A-Za-z][\w./-]*(?=\s|$)/my],
    ['plain', /[\w./:@%=-]+/y],
  ],
  python: [
    COMMON.hashComment,
    ['text', /[fbr]?"""[\s\S]*?"""|[fbr]?"(?:\\.|[^"\\\n])*"|[fbr]?'(?:\\.|[^'\\\n])*'/y],
    words('import from as with def return for in if else elif class raise try except lambda async await not and or is'),
    ['constant', /\b(?:True|False|None)\b/y],
    ['name', /[A-Za-z_]\w*(?=\()/y],
    ['plain', /[A-Za-z_]\w*/y],
    COMMON.number,
  ],
  rust: C_LIKE('use let mut async await fn pub struct impl return match if else for in mod crate'),
  java: C_LIKE('import new public static void final class return if else for var'),
  scala: C_LIKE('import new val var def object class return if else for'),
};

export function highlight(code, language) {
  const rules = RULES[language];
  if (rules === undefined) return escapeHtml(code);
  let html = '';
  let place = 0;
  while (place < code.length) {
    const found = match(rules, code, place);
    const text = found?.text ?? code[place];
    html +=
      found === undefined || found.kind === 'plain'
        ? escapeHtml(text)
        : `<span class="c-${found.kind}">${escapeHtml(text)}</span>`;
    place += text.length;
  }
  return html;
}

export function escapeHtml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function match(rules, code, place) {
  for (const [kind, pattern] of rules) {
    pattern.lastIndex = place;
    const found = pattern.exec(code);
    if (found !== null && found[0] !== '') return { kind, text: found[0] };
  }
  return undefined;
}
