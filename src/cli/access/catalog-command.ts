import { openConfiguredCatalog } from '../../app/offline.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Config } from '../../config/config.ts';
import { EXIT, UsageError, requireConfig, toJsonText } from '../command.ts';
import type { Command, Terminal } from '../command.ts';
import { splitArguments } from '../options.ts';
import type { SplitArguments } from '../options.ts';

type Work = (catalog: Catalog, config: Config) => Promise<number | void>;

interface CatalogCommand extends Pick<Command, 'words' | 'usage' | 'summary' | 'help'> {
  /** Names of its options, with and without a value. */
  readonly own?: Parameters<typeof splitArguments>[1];
  /** Checks the arguments before the catalog is opened. A command that takes no names leaves them to the settings. */
  readonly prepare: (given: SplitArguments, terminal: Terminal) => Work;
  readonly takesNames?: boolean;
}

/** A command on the catalog that the settings name; a server may run beside it. */
export function defineCatalogCommand({ own = {}, prepare, takesNames = true, ...command }: CatalogCommand): Command {
  return {
    ...command,
    async run(argv, terminal) {
      const given = splitArguments(argv, own);
      const work = prepare(given, terminal);
      const config = requireConfig(takesNames ? given.settings : [...given.names, ...given.settings], terminal);
      const catalog = await openConfiguredCatalog(config);
      try {
        return (await work(catalog, config)) ?? EXIT.done;
      } finally {
        await catalog.close();
      }
    },
  };
}

interface ListCommand extends Pick<Command, 'words' | 'summary' | 'help'> {
  readonly list: (catalog: Catalog) => Promise<{ readonly json: readonly object[]; readonly lines: string }>;
}

/** A command that lists everything of one kind. */
export function defineListCommand({ list, ...command }: ListCommand): Command {
  return defineCatalogCommand({
    ...command,
    usage: '[--json] [--data DIR]',
    own: { switches: ['json'] },
    takesNames: false,
    prepare:
      ({ switches }, terminal) =>
      async (catalog) => {
        const { json, lines } = await list(catalog);
        terminal.out(switches.has('json') ? toJsonText(json) : lines);
      },
  });
}

export function requireOneName([name, ...others]: readonly string[], message: string): string {
  if (name === undefined || others.length > 0) throw new UsageError(message);
  return name;
}
