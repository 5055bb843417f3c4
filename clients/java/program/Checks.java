import java.util.HashMap;
import java.util.Map;

/** What each operation is expected to do, by its name in the description. */
final class Checks {
  /** The native part of the namespace client does not know how Jackson writes values that may be null. */
  private static final String NOT_SENT = "Failed to parse request JSON";
  private static final Map<String, Check> ALL = new HashMap<>();

  interface Check {
    void run(Fixture fixture) throws Exception;
  }

  static {
    NamespaceChecks.addTo(ALL);
    TableChecks.addTo(ALL);
    DataChecks.addTo(ALL);
    HistoryChecks.addTo(ALL);
  }

  private Checks() {}

  static void run(String method, String operation, Fixture fixture) {
    Report.check(method, () -> {
      Check check = ALL.get(operation);
      if (check == null) throw new Report.Other("fails", "the program has no check of this operation");
      if (!fixture.client.offers(operation)) throw new Report.Other("refused by the client", "no request is sent");
      try {
        check.run(fixture);
      } catch (Client.Refusal refusal) {
        if (!refusal.getMessage().startsWith(NOT_SENT)) throw refusal;
        throw new Report.Other("refused by the client", "its native part cannot read what its Java part writes");
      }
    });
  }
}
