import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { roleFor } from './access.ts';
import type { Permission } from './access.ts';
import { quotePath } from './field-path.ts';
import type { FieldPath } from './field-path.ts';
import { formatPath, quoteForMessage } from './identifier.ts';
import type { NamespacePath } from './identifier.ts';

/** Refusals that several modules use. Hidden and missing objects get the same message. */

export function catalogUnavailable(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The catalog is not available at the moment.', {
    cause,
    retryAfterSeconds: 1,
  });
}

/** For a change that no journal entry resolves: it may have been made, or was made and a power loss may undo it. */
export function changeInDoubt(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', `It is not known whether the change was made.${reasonOf(cause)}`, {
    hint: 'Check before you send the request again.',
    cause,
    retryAfterSeconds: 1,
    outcome: 'unknown',
  });
}

/** The reason of an outage that an operator can end, such as a storage that refuses access. */
export function reasonOf(cause: unknown): string {
  const isOutage = cause instanceof ServiceError && cause.kind === 'ServiceUnavailable' && cause.outcome !== 'unknown';
  return isOutage ? ` ${cause.message}` : '';
}

export function databaseNotFound(name: string): ServiceError {
  return new ServiceError('DatabaseNotFound', `The database ${quoteForMessage(name)} was not found.`);
}

export function namespaceNotFound(path: NamespacePath, delimiter: string): ServiceError {
  return new ServiceError(
    'NamespaceNotFound',
    `The namespace ${quoteForMessage(formatPath(path, delimiter))} was not found.`,
  );
}

export function tableNotFound(path: NamespacePath, delimiter: string): ServiceError {
  return new ServiceError('TableNotFound', `The table ${quoteForMessage(formatPath(path, delimiter))} was not found.`);
}

export function notPermitted(permission: Permission): ServiceError {
  return new ServiceError('PermissionDenied', `The caller does not have the permission "${permission}" here.`, {
    hint: `Ask an administrator for the role ${roleFor(permission)}.`,
  });
}

export function branchNotFound(name: string): ServiceError {
  return new ServiceError('TableBranchNotFound', `The branch ${quoteForMessage(name)} was not found.`);
}

export function versionExists(version: number): ServiceError {
  return new ServiceError('TableVersionAlreadyExists', `Version ${version} already exists.`, {
    hint: 'Read the latest version, rebase the change on it, and commit the version after it.',
  });
}

export function versionDiffers(expected: number, found: number): ServiceError {
  return new ServiceError('PreconditionFailed', `The latest version is ${found}, not ${expected} as in If-Match.`, {
    hint: 'Read the table again, and retry with its latest version.',
  });
}

/** Clients create such columns by themselves, for example `tableFromArrays` of apache-arrow for texts. */
export function dictionaryNotIndexed(column: FieldPath): ServiceError {
  return invalidInput(
    `The column ${quotePath(column)} is dictionary-encoded and cannot be indexed.`,
    column.length === 1
      ? 'First change its type to that of its values with alter_columns, such as to utf8 for text.'
      : 'Copy its values to a new column with add_columns, and index that one.',
  );
}
