import { startApp } from './app.ts';
import { runWorker } from './process/worker.ts';

runWorker(startApp);
