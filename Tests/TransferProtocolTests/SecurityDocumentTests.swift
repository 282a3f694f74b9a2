import Testing
import TransferTestSupport

/// SECURITY.md names the test for each defence; these tests have to exist.
@Suite struct SecurityDocumentTests {
    @Test func everyTestThatIsNamedIsThere() throws {
        let top = try #require(MarkdownDocument.directory(of: "SECURITY.md"))
        let sources = Self.sources(below: top + "/Tests")
        let named = try MarkdownDocument("SECURITY.md").codeSpans.filter { $0.contains("Tests.") }
        #expect(named.count > 60)
        for name in named {
            let parts = name.split(separator: ".")
            let functions = sources["\(parts[0]).swift"]?.split { !$0.isLetter && !$0.isNumber }
            #expect(parts.count == 2 && functions?.contains(parts[1]) == true, "\(name)")
        }
    }

    /// The texts of all files below a directory, by file name. Files with equal names are joined.
    private static func sources(below path: String) -> [String: String] {
        var sources: [String: String] = [:]
        for name in names(in: path) {
            let below = path + "/" + name
            if name.hasSuffix(".swift") {
                sources[name, default: ""] += MarkdownDocument.read(below) ?? ""
            } else {
                sources.merge(Self.sources(below: below)) { $0 + $1 }
            }
        }
        return sources
    }
}
