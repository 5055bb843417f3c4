/** False if the work takes longer; it then continues. */
export async function endsWithin(timeoutSeconds: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutSeconds * 1000);
  });
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}
