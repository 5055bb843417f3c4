import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The service without Spark: over HTTP, and through the JavaScript client. */
final class Beside {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final int ATTEMPTS_MAX = 60;

  interface Question {
    Object ask() throws Exception;
  }

  private Beside() {}

  static JsonNode post(String path, String body) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("TILTYARD_URL") + path))
        .header("x-api-key", System.getenv("TILTYARD_API_KEY"))
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
    HttpResponse<String> reply = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    if (reply.statusCode() != 200) throw new Report.Difference(path + ": " + reply.statusCode() + " " + reply.body());
    return JSON.readTree(reply.body());
  }

  /** What `javascript.mjs` prints. */
  static JsonNode javascript(String action, String table) throws Exception {
    List<String> command =
        List.of(System.getenv("TILTYARD_NODE"), System.getenv("TILTYARD_JAVASCRIPT"), action, table);
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes());
    process.waitFor(1, TimeUnit.MINUTES);
    if (process.exitValue() != 0) throw new Report.Difference("JavaScript " + action + ": " + printed);
    return JSON.readTree(printed);
  }

  /** The service looks for versions that others wrote to an object store every few seconds. */
  static void becomes(String what, Question question, Object expected) throws Exception {
    for (int attempt = 1; attempt < ATTEMPTS_MAX; attempt += 1) {
      if (String.valueOf(question.ask()).equals(String.valueOf(expected))) return;
      Thread.sleep(500);
    }
    Report.same(what, question.ask(), expected);
  }
}
