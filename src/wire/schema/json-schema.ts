/** A shape as JSON Schema 2020-12, where a tuple is `prefixItems`; in shapes it is a list of `items`. */
export function toJsonSchema(shape: unknown): unknown {
  if (Array.isArray(shape)) return shape.map(toJsonSchema);
  if (typeof shape !== 'object' || shape === null) return shape;
  const entries = Object.entries(shape)
    .filter(([name]) => name !== 'additionalItems')
    .flatMap(([name, value]): [string, unknown][] => {
      if (name !== 'items' || !Array.isArray(value)) return [[name, toJsonSchema(value)]];
      return [
        ['prefixItems', value.map(toJsonSchema)],
        ['items', false],
      ];
    });
  return Object.fromEntries(entries);
}
