import type { VersionHold, WriteTarget } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import type { RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';

/** The branch stands in the body, or in the address when the body is data. */
export function readTarget(table: TableRecord, { branch }: { readonly branch?: string | undefined }): WriteTarget {
  if (branch === '') throw new ServiceError('InvalidInput', 'branch is empty.');
  return { place: table.place, branch: branch === MAIN_BRANCH ? undefined : branch };
}

/** The same for a write that the journal is told of, and that is given up when the client goes before its turn. */
export function intendedTarget(
  { intent, signal }: Pick<RequestFacts, 'intent' | 'signal'>,
  table: TableRecord,
  where: { readonly branch?: string | undefined },
): WriteTarget {
  const target = readTarget(table, where);
  return { ...target, leaving: signal, intent: intent?.of(table, target.branch) };
}

/** Lets the catalog keep readers at a version while a write takes several commits. */
export function holdReaders(services: Services, table: TableRecord, branch: string | undefined): VersionHold {
  const { tables } = services.catalog;
  return {
    hold: (version) => tables.hold(table.id, { version, branch }),
    release: () => tables.release(table.id),
  };
}

/** What the record of a commit says of the branch: nothing for the main one. */
export function branchEntry(branch: string | undefined): { readonly branch?: string } {
  return branch === undefined ? {} : { branch };
}
