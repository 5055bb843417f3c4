import { isPermitted, isVisible } from './caller.ts';
import type { Caller, Permission } from './caller.ts';
import type { NamespacePath } from './identifier.ts';

export interface Target {
  readonly database: string;
  readonly path: NamespacePath;
  readonly kind: 'database' | 'namespace' | 'table';
}

/** `hidden` is answered like absence, `forbidden` with 403. */
export type Decision = 'permitted' | 'forbidden' | 'hidden';

export function authorize(caller: Caller, permission: Permission, target: Target): Decision {
  if (isPermitted(caller, permission, target.database, target.path)) return 'permitted';
  return mayKnow(caller, target) ? 'forbidden' : 'hidden';
}

/**
 * A table has nothing below it. A grant whose path goes on past the table's belongs to a namespace of the same name, and
 * tells nothing about the table.
 */
function mayKnow(caller: Caller, { database, path, kind }: Target): boolean {
  return kind === 'table' ? isPermitted(caller, 'read', database, path) : isVisible(caller, database, path);
}
