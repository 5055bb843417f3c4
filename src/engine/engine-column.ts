import type { FieldPath } from '../model/field-path.ts';

/**
 * The name by which a search names a column. Unlike SQL it wants names bare, and quoted only where a dot or a backtick in
 * a nested name would be misread.
 */
export function engineColumn(path: FieldPath): string {
  if (path.length === 1) return path[0];
  return path.map((name) => (/[.`]/.test(name) ? `\`${name.replaceAll('`', '``')}\`` : name)).join('.');
}
