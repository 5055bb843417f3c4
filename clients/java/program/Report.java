import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs checks one by one and prints what came of each, a JSON object per line. */
public final class Report {
  private static final int SECONDS_MAX = 120;
  private static final int DETAIL_MAX = 600;
  private static final ObjectMapper JSON = new ObjectMapper();

  private Report() {}

  /** Ends normally when everything was as expected. */
  public interface Check {
    void run() throws Exception;
  }

  /** Something other than what was expected. */
  public static final class Difference extends Exception {
    public Difference(String seen) {
      super(seen);
    }
  }

  /** An outcome that is neither success nor failure. */
  public static final class Other extends Exception {
    final String outcome;
    final String explained;

    public Other(String outcome, String detail) {
      this(outcome, detail, "");
    }

    public Other(String outcome, String detail, String explained) {
      super(detail);
      this.outcome = outcome;
      this.explained = explained;
    }
  }

  public static void check(String method, Check check) {
    ExecutorService runner = Executors.newSingleThreadExecutor(Report::startDaemon);
    try {
      runner.submit(() -> runInTime(check)).get(SECONDS_MAX, TimeUnit.SECONDS);
      print(method, "works", "", "");
    } catch (TimeoutException late) {
      print(method, "fails", "no answer within " + SECONDS_MAX + " s", "");
    } catch (ExecutionException failed) {
      printFailure(method, failed.getCause());
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    } finally {
      runner.shutdownNow();
    }
  }

  public static void print(String method, String outcome, String detail, String explained) {
    Map<String, String> line = new LinkedHashMap<>();
    line.put("method", method);
    line.put("outcome", outcome);
    line.put("detail", detail.length() > DETAIL_MAX ? detail.substring(0, DETAIL_MAX) : detail);
    line.put("explained", explained);
    try {
      System.out.println(JSON.writeValueAsString(line));
    } catch (Exception impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  public static void same(String what, Object seen, Object expected) throws Difference {
    if (!String.valueOf(seen).equals(String.valueOf(expected))) {
      throw new Difference(what + " is " + seen + ", not " + expected);
    }
  }

  public static void holds(String what, boolean isSo) throws Difference {
    if (!isSo) throw new Difference(what);
  }

  private static Void runInTime(Check check) throws Exception {
    check.run();
    return null;
  }

  private static void printFailure(String method, Throwable cause) {
    if (cause instanceof Other other) print(method, other.outcome, other.getMessage(), other.explained);
    else if (cause instanceof Difference) print(method, "differs", cause.getMessage(), "");
    else print(method, "fails", describe(cause), "");
  }

  /** With the causes, of each the first line. */
  private static String describe(Throwable failure) {
    StringBuilder text = new StringBuilder();
    for (Throwable each = failure; each != null; each = each.getCause()) {
      String message = String.valueOf(each.getMessage()).split("\n")[0];
      text.append(text.length() == 0 ? "" : " <- ").append(each.getClass().getSimpleName()).append(": ").append(message);
    }
    return text.toString();
  }

  private static Thread startDaemon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    return thread;
  }
}
