import type { Command } from '../command.ts';
import { UsageError } from '../command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The list of commands is passed in, because it includes this one. */
export function completionCommand(commands: () => readonly Command[]): Command {
  return {
    words: ['completion'],
    usage: 'bash|zsh|fish',
    summary: 'print what lets a shell complete commands and options',
    help: `Put this into the file that your shell reads at its start:

  bash  eval "$(tiltyard completion bash)"
  zsh   eval "$(tiltyard completion zsh)"
  fish  tiltyard completion fish | source`,
    async run(argv, terminal) {
      const [word] = argv;
      const shell = SHELLS.find((each) => each === word);
      if (shell === undefined || argv.length > 1) throw new UsageError(`Name one shell: ${SHELLS.join(', ')}.`);
      terminal.out(SCRIPTS[shell](toEntries(commands())));
      return 0;
    },
  };
}

type Entry = readonly [words: string, next: ReadonlySet<string>];

/** For every beginning of a command, such as `key` or `key create`, the words and options that may come next. */
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

const SCRIPTS: Readonly<Record<Shell, (entries: readonly Entry[]) => string>> = {
  bash: (entries) => `${posixFunctions(entries, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  COMPREPLY=($(compgen -W "$(_tiltyard_words "$before")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _tiltyard tiltyard
`,
  zsh: (entries) => `${posixFunctions(entries, '"${(@)words[2,CURRENT-1]}"')}
  compadd -- \${=$(_tiltyard_words "$before")} || _files
}
compdef _tiltyard tiltyard
`,
  fish: (entries) => `function __tiltyard_before
  set -l before
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or set before $before $word
  end
  echo "$before"
end
complete -c tiltyard -f
${entries.map(fishLines).join('')}`,
};

/** Of bash and zsh, up to where the words before the cursor are known. */
function posixFunctions(entries: readonly Entry[], typedWords: string): string {
  const cases = entries.map(([words, next]) => `    "${words}") echo "${[...next].join(' ')}" ;;`);
  return `_tiltyard_words() {\n  case "$1" in\n${cases.join('\n')}\n  esac\n}
_tiltyard() {
  local before="" word
  for word in ${typedWords}; do
    case "$word" in -*) ;; *) [ -n "$(_tiltyard_words "\${before:+$before }$word")" ] && before="\${before:+$before }$word" ;; esac
  done`;
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
