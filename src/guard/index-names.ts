import { ServiceError } from '../errors/service-error.ts';
import { checkName, quoteForMessage } from '../model/identifier.ts';

/** Names of indexes stand in addresses, as names of tables do. No delimiter ever divides them. */
const NO_DELIMITER = '\u0000';

/** The engine keeps notes of its own as indexes with such names; one of ours would make the table unreadable. */
const ENGINE_PREFIX = '__lance';

export function checkIndexName(name: string): void {
  checkName(name, NO_DELIMITER);
  if (!name.startsWith(ENGINE_PREFIX)) return;
  throw new ServiceError('InvalidInput', `The index name ${quoteForMessage(name)} is reserved.`, {
    hint: `Names that start with ${ENGINE_PREFIX} belong to the storage engine.`,
  });
}
