import { openConfiguredCatalog } from '../../app/configured-catalog.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Config } from '../../config/config.ts';
import { EXIT, UsageError, requireConfig, toJsonText } from '../command.ts';
import type { Command } from '../command.ts';
import { splitArguments } from '../options.ts';
import type { Given } from '../options.ts';

export interface Output {
  /** Printed in place of `text` with --json. */
  readonly json?: unknown;
  readonly text?: string;
  /** For the error output. */
  readonly notice?: string;
  readonly code?: number;
}

type Work = (catalog: Catalog, config: Config) => Promise<Output>;

/** `usage` says which options it has. */
interface CatalogCommand extends Pick<Command, 'words' | 'usage' | 'summary' | 'help'> {
  /** Checks the arguments before the catalog is opened. */
  readonly prepare: (given: Given) => Work;
}

/** A command on the catalog that the settings name; a server may run beside it. */
export function defineCatalogCommand({ prepare, ...command }: CatalogCommand): Command {
  const { usage } = command;
  // --data is a setting.
  const own = [...usage.matchAll(/--(?!data\b)([a-z-]+)(?: ([A-Z_]+))?/g)];
  const options = own.map(([, name = '', value]) => ({ name, value }));
  return {
    ...command,
    async run(argv, terminal) {
      const { settings, ...given } = splitArguments(argv, options);
      const work = prepare(given);
      // The name that a command without names is given is that of the data folder.
      const config = requireConfig(usage.startsWith('[--') ? [...given.names, ...settings] : settings, terminal);
      const catalog = await openConfiguredCatalog(config);
      try {
        const { json, text = '', notice = '', code = EXIT.done } = await work(catalog, config);
        terminal.out(given.has('json') ? toJsonText(json) : text);
        terminal.err(notice);
        return code;
      } finally {
        await catalog.close();
      }
    },
  };
}

type ListCommand = Pick<Command, 'words' | 'summary' | 'help'> & { readonly list: Work };

export function defineListCommand({ list, ...command }: ListCommand): Command {
  return defineCatalogCommand({ ...command, usage: '[--json] [--data DIR]', prepare: () => list });
}

export function requireOneName({ names: [name, ...others] }: Given, message: string): string {
  if (name === undefined || others.length > 0) throw new UsageError(message);
  return name;
}
