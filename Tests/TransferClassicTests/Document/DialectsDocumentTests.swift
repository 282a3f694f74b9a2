import Testing
import TransferClassic
import TransferModel
import TransferTestSupport

/// `docs/reference/dialects.md` and the code must say the same.
@Suite struct DialectsDocumentTests {
    private let document: MarkdownDocument

    init() throws {
        document = try MarkdownDocument("docs/reference/dialects.md")
    }

    @Test func examples() throws {
        for example in document.examples {
            let example = try DialectExample(example)
            #expect(try example.read() == example.said)
        }
    }

    @Test(arguments: ClassicFraming.standard) func everyFramingHasExamplesOfBothSides(_ framing: ClassicFraming) throws
    {
        let examples = try document.examples.map(DialectExample.init).filter { $0.framing.name == framing.name }
        #expect(examples.count { $0.isOfClient } >= 2)
        // That of texts has no answers.
        #expect(examples.count { !$0.isOfClient } >= (framing.hasClient ? 2 : 0))
    }

    @Test func functions() {
        let rows = document.table(below: "## Messages").map { Array($0.prefix(2)) }
        #expect(rows == MessageFunction.allCases.map { ["\($0.rawValue)", "\($0)"] })
    }

    @Test func framings() {
        let rows = document.table(below: "# Dialects").map { [$0[0].prefix { $0 != "]" }.dropFirst(), $0[2][...]] }
        let ports = ClassicFraming.standard.map { framing in
            [framing.name[...], framing.defaultPort.map { "\($0)"[...] } ?? "–"]
        }
        #expect(rows == ports)
    }

    @Test func limits() {
        let rows = document.table(below: "## What holds for all").map { $0[1].filter { $0 != "," } }
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
