import type { Command } from '../command.ts';
import { EXIT, UsageError } from '../command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The argument by which the scripts ask for names; the words of the command line follow it. */
const NAMES = 'names';

interface Commands {
  readonly all: readonly Command[];
  readonly find: (words: readonly string[]) => Command | undefined;
}

/** The commands are passed in, because this is one of them. */
export function completionCommand(commands: () => Commands): Command {
  return {
    words: ['completion'],
    usage: 'bash|zsh|fish',
    summary: 'print a script that completes commands, options and names in a shell',
    help: `Prints a script that completes commands and options, and the names of tables, columns, namespaces, indexes and databases
of your server.
Add one of these lines to the startup file of your shell:

  bash  eval "$(tiltyard completion bash)"
  zsh   eval "$(tiltyard completion zsh)"
  fish  tiltyard completion fish | source`,
    async run(argv, terminal) {
      const [word, ...rest] = argv;
      const { all, find } = commands();
      if (word === NAMES) {
        const words = rest.slice(rest[0] === '--' ? 1 : 0);
        const command = find(words);
        if (command === undefined) return EXIT.done;
        const { completeNames } = await import('./complete-names.ts');
        terminal.out((await completeNames(words, command, terminal)).map((name) => `${name}\n`).join(''));
        return EXIT.done;
      }
      const shell = SHELLS.find((each) => each === word);
      if (shell === undefined || rest.length > 0) throw new UsageError(`Give one shell: ${SHELLS.join(', ')}.`);
      terminal.out(SCRIPTS[shell](toEntries(all), all));
      return EXIT.done;
    },
  };
}

type Entry = readonly [words: string, next: ReadonlySet<string>];

/** For every prefix of a command, such as `key` or `key create`, the words and options that may come next. */
function toEntries(commands: readonly Command[]): readonly Entry[] {
  const entries = new Map<string, Set<string>>();
  const add = (words: readonly string[], next: string): void => {
    const key = words.join(' ');
    entries.set(key, (entries.get(key) ?? new Set()).add(next));
  };
  add([], 'help');
  for (const command of commands) {
    for (const [index, word] of command.words.entries()) add(command.words.slice(0, index), word);
    for (const flag of flagsOf(command)) add(command.words, flag);
  }
  return [...entries];
}

function flagsOf({ usage, options }: Command): readonly string[] {
  const names = options?.map(({ name }) => `--${name}`) ?? usage.match(/--[a-z][a-z-]*/g) ?? [];
  return [...names, '--help'];
}

/**
 * Offers options where one begins, names from the server after a complete command, and otherwise files. In zsh,
 * `compdef` exists once the completion system has been loaded.
 */
const SCRIPTS: Readonly<Record<Shell, (entries: readonly Entry[], commands: readonly Command[]) => string>> = {
  bash: (entries) => `${posixFunctions(entries, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  local current="\${COMP_WORDS[COMP_CWORD]}" offered
  case "$current" in
    -*) offered="$(_tiltyard_options "$before")" ;;
    *) offered="$(_tiltyard_words "$before"; [ -n "$before" ] && tiltyard completion ${NAMES} -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _tiltyard tiltyard
`,
  zsh: (entries) => `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
${posixFunctions(entries, '"${(@)words[2,CURRENT-1]}"')}
  local offered
  case "\${words[CURRENT]}" in
    -*) offered="$(_tiltyard_options "$before")" ;;
    *) offered="$(_tiltyard_words "$before"; [ -n "$before" ] && tiltyard completion ${NAMES} -- "\${(@)words[2,CURRENT-1]}" 2>/dev/null)" ;;
  esac
  compadd -- \${=offered} || _files
}
compdef _tiltyard tiltyard
`,
  fish: (entries, commands) => `function __tiltyard_before
  set -l before
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or set before $before $word
  end
  echo "$before"
end
complete -c tiltyard -f
complete -c tiltyard -n "string match -rq -- '^(${commands.filter(takesFile).map(wordsOf).join('|')})\\b' (__tiltyard_before)" -F
complete -c tiltyard -n "not string match -q -- '-*' (commandline -ct); and test -n (__tiltyard_before)" -a '(tiltyard completion ${NAMES} -- (commandline -opc)[2..-1] 2>/dev/null)'
${entries.map(fishLines).join('')}`,
};

function takesFile({ usage }: Command): boolean {
  return /\b(?:FILE|FOLDER|DATA)\b/.test(usage);
}

function isOption(next: string): boolean {
  return next.startsWith('-');
}

function wordsOf({ words }: Command): string {
  return words.join(' ');
}

/** For bash and zsh, up to the point where the words before the cursor are known. */
function posixFunctions(entries: readonly Entry[], typedWords: string): string {
  return `${posixList('words', entries, (next) => !isOption(next))}${posixList('options', entries, isOption)}_tiltyard() {
  local before="" word
  for word in ${typedWords}; do
    case "$word" in -*) ;; *) [ -n "$(_tiltyard_words "\${before:+$before }$word"; _tiltyard_options "\${before:+$before }$word")" ] && before="\${before:+$before }$word" ;; esac
  done`;
}

/** A function that prints what may follow the words of a command. */
function posixList(name: string, entries: readonly Entry[], isListed: (next: string) => boolean): string {
  const cases = entries
    .map(([words, next]) => [words, [...next].filter(isListed).join(' ')] as const)
    .filter(([, listed]) => listed !== '')
    .map(([words, listed]) => `    "${words}") echo "${listed}" ;;`);
  return `_tiltyard_${name}() {\n  case "$1" in\n${cases.join('\n')}\n  esac\n}\n`;
}

function fishLines([words, next]: Entry): string {
  const flags = [...next].filter((each) => each.startsWith('--')).map((flag) => `-l ${flag.slice(2)}`);
  const names = [...next].filter((each) => !each.startsWith('--'));
  const exact = `test (__tiltyard_before) = '${words}'`;
  const inside = `string match -q -- '${words}*' (__tiltyard_before)`;
  return [
    ...(names.length === 0 ? [] : [`complete -c tiltyard -n "${exact}" -a '${names.join(' ')}'\n`]),
    ...flags.map((flag) => `complete -c tiltyard -n "${inside}" ${flag}\n`),
  ].join('');
}
