import type { Operation } from '../operations/operation.ts';

/** What a request asks the service to do, as far as its share of it goes: one kind of work must not starve another. */
export type WorkClass = 'read' | 'write' | 'ingest' | 'admin';

export const WORK_CLASSES: readonly WorkClass[] = ['read', 'write', 'ingest', 'admin'];

export function toWorkClass({ body, permission }: Pick<Operation, 'body' | 'permission'>): WorkClass {
  if (body.kind === 'arrow') return 'ingest';
  switch (permission) {
    case 'see':
    case 'read':
      return 'read';
    case 'write':
    case 'manage':
      return 'write';
    case 'administer':
      return 'admin';
  }
}

/** Whether it changes tables or what is known of them. Keys and grants can be changed whatever state tables are in. */
export function isDataWrite({ permission }: Pick<Operation, 'permission'>): boolean {
  return permission === 'write' || permission === 'manage';
}
