import Testing
import TransferClassic
import TransferModel
import TransferTestSupport

/// `docs/reference/dialects.md`, the pages beside the framings, and the code must agree.
@Suite struct DialectsDocumentTests {
    /// The pages of the framings, by name.
    private static let pages = [
        "header7": "Header7/header7.md", "sized": "Sized/sized.md", "tagged37": "Tagged37/tagged37.md",
        "jsonline": "JSONLine/jsonline.md", "text": "Text/text.md",
    ]

    private static func document(_ path: String) throws -> MarkdownDocument {
        try MarkdownDocument("Sources/TransferClassic/" + path)
    }

    private static func examples(of framing: ClassicFraming) throws -> [DialectExample] {
        try document("Framings/" + #require(pages[framing.name])).examples.map(DialectExample.init)
    }

    @Test(arguments: ClassicFraming.standard) func examples(_ framing: ClassicFraming) throws {
        for example in try Self.examples(of: framing) {
            #expect(example.framing.name == framing.name)
            #expect(try example.read() == example.said)
        }
    }

    @Test(arguments: ClassicFraming.standard) func everyFramingHasExamplesOfBothSides(_ framing: ClassicFraming) throws
    {
        let examples = try Self.examples(of: framing)
        #expect(examples.count { $0.isOfClient } >= 2)
        // The text framing has no answers.
        #expect(examples.count { !$0.isOfClient } >= (framing.hasClient ? 2 : 0))
    }

    @Test func functions() throws {
        let rows = try Self.document("Messages/messages.md").table(below: "## Functions").map { Array($0.prefix(2)) }
        #expect(rows == MessageFunction.allCases.map { ["\($0.rawValue)", "\($0)"] })
    }

    @Test func framings() throws {
        let document = try MarkdownDocument("docs/reference/dialects.md")
        let rows = document.table(below: "# Dialects").map { [$0[0].prefix { $0 != "]" }.dropFirst(), $0[2][...]] }
        let ports = ClassicFraming.standard.map { framing in
            [framing.name[...], framing.defaultPort.map { "\($0)"[...] } ?? "–"]
        }
        #expect(rows == ports)
    }

    @Test func limits() throws {
        let rows = try Self.document("classic.md").table(below: "## Limits").map { $0[1].filter { $0 != "," } }
        let sized = Int(Int32.max)
        let limits: [Int] = [
            ClassicLimits.chunk, ClassicLimits.json, ClassicLimits.shortJSON, ClassicLimits.head,
            Int(ClassicLimits.heartbeat),
            ClassicLimits.client, Int(ClassicLimits.handedOn), ClassicLimits.noise,
        ]
        #expect(
            rows == ["\(sized - 8) or \(sized) with total=content", "\(Limits.uploadSize)"] + limits.map { "\($0)" })
    }
}
