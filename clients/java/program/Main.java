import java.util.ArrayList;
import java.util.List;

/** Tries every operation of a Java client of the Lance REST description: `generated` or `namespace`. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws Exception {
    String url = System.getenv("TILTYARD_URL");
    String key = System.getenv("TILTYARD_API_KEY");
    if (arguments[0].equals("generated")) tryGenerated(url, key);
    else tryNamespace(new Fixture(new NamespaceClient(url, key)));
    System.exit(0);
  }

  private static void tryNamespace(Fixture fixture) {
    for (String operation : NamespaceClient.operations()) Checks.run("LanceNamespace." + operation, operation, fixture);
  }

  /** An operation of several classes is tried on each. */
  private static void tryGenerated(String url, String key) throws Exception {
    List<String> classes = GeneratedClient.classes();
    for (String name : classes) {
      List<String> order = new ArrayList<>(List.of(name));
      order.addAll(classes);
      Fixture fixture = new Fixture(new GeneratedClient(url, key, order));
      for (String operation : GeneratedClient.operationsOf(name)) Checks.run(name + "." + operation, operation, fixture);
    }
  }
}
