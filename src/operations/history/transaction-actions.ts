import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { Transaction } from '../../wire/history/transactions.ts';
import type { AlterTransactionBody } from '../../wire/history/transactions.ts';
import { readWord } from '../shared/parameters.ts';

type Action = AlterTransactionBody['actions'][number];
type Properties = Readonly<Record<string, string>>;
type Change = (properties: Properties) => Properties;

/** What the actions do to the properties of a transaction, in order; `undefined` if they only confirm its status. */
export function readActions(actions: readonly Action[]): Change | undefined {
  const changes = actions.flatMap((action) => readAction(action) ?? []);
  if (changes.length === 0) return undefined;
  return (properties) => changes.reduce((changed, change) => change(changed), properties);
}

function readAction(action: Action): Change | undefined {
  const { setStatusAction: status, setPropertyAction: set, unsetPropertyAction: unset } = action;
  if ([status, set, unset].filter((part) => part !== undefined).length !== 1) {
    throw invalidInput('Each action must be exactly one of the three.');
  }
  if (set !== undefined) return readSet(set);
  if (unset !== undefined) return readUnset(unset);
  requireSucceeded(status?.status ?? '');
  return undefined;
}

const STATUSES = ['Succeeded', 'Queued', 'Running', 'Failed', 'Canceled'] as const;

/** Only committed transactions are recorded. */
function requireSucceeded(text: string): void {
  const status = readWord('status', text, STATUSES);
  if (status === 'Succeeded') return;
  throw conflict(`The transaction is committed and cannot become ${status}.`, 'Restore the version before it instead.');
}

function readSet({ key, value, mode: modeText }: NonNullable<Action['setPropertyAction']>): Change {
  const name = readKey(key);
  if (value === undefined) throw invalidInput('A setPropertyAction has no value.');
  const mode = readWord('mode', modeText, ['Overwrite', 'Fail', 'Skip']);
  return (properties) => {
    const isPresent = Object.hasOwn(properties, name);
    if (isPresent && mode === 'Fail') throw conflict(`The transaction has the property ${quoteForMessage(name)}.`);
    return isPresent && mode === 'Skip' ? properties : { ...properties, [name]: value };
  };
}

function readUnset({ key, mode: modeText }: NonNullable<Action['unsetPropertyAction']>): Change {
  const name = readKey(key);
  const mode = readWord('mode', modeText, ['Skip', 'Fail']);
  return (properties) => {
    if (!Object.hasOwn(properties, name) && mode === 'Fail') {
      throw conflict(`The transaction has no property ${quoteForMessage(name)}.`);
    }
    const { [name]: _, ...others } = properties;
    return others;
  };
}

/** Callers cannot change the record of a write, which replies include in the properties. */
function readKey(key: string | undefined): string {
  if (key === undefined || key === '') throw invalidInput('The action names no key.');
  if (!Object.hasOwn(Transaction.properties, key)) return key;
  throw invalidInput(`The property ${quoteForMessage(key)} is part of the record of the write.`, 'Choose another key.');
}

function conflict(message: string, hint?: string): ServiceError {
  return new ServiceError('InvalidTransactionState', message, { hint });
}
