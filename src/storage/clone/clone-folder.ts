/** The folder of a table, as the source or target of a clone. Paths are relative to it. */
export interface CloneFolder {
  /** Called before the first file is written. */
  prepare(): Promise<void>;
  /** `undefined` if there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** All files below a path. */
  list(path: string): AsyncIterable<CloneFile>;
  /** Copies a file of another table. */
  add(path: string, file: CloneFile): Promise<void>;
  put(path: string, content: Buffer): Promise<void>;
  /** Removes everything. */
  remove(): Promise<void>;
}

export interface CloneFile extends PartedContent {
  /** Relative to the folder of the table. */
  readonly path: string;
  readonly at: LocalFile | StoredFile;
}

interface LocalFile {
  readonly kind: 'local';
  readonly file: string;
}

interface StoredFile {
  readonly kind: 'object';
  readonly scheme: string;
  readonly bucket: string;
  readonly key: string;
}

/** Content that is too large to keep in memory as a whole. */
export interface PartedContent {
  readonly bytes: number;
  /** Returns exactly `length` bytes. */
  readPart(start: number, length: number): Promise<Buffer>;
}
