import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
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
    Report.check("the example of the guide", Main::runExample);
  }

  /** What it prints is in the guide. */
  private static void runExample() throws Exception {
    PrintStream console = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed));
    try {
      FirstTable.main(new String[0]);
    } finally {
      System.setOut(console);
    }
    Report.same("output", printed.toString().strip().replace("\t", " ").replace("\n", "; "), "id price; 3 40");
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
