/** The schema as it came, to be put at the head of every chunk and into its footer. */
export interface SchemaMessage {
  /** Prefix and metadata. */
  readonly framed: Buffer;
  readonly metadata: Buffer;
  /** Where the schema table stands in the metadata. */
  readonly table: number;
  readonly version: number;
}
