import Testing
import TransferModel
import TransferTestSupport

@testable import TransferProtocol

/// `docs/reference/protocol.md` and the code must agree.
@Suite struct SpecificationTests {
    private let document: MarkdownDocument

    init() throws {
        document = try MarkdownDocument("docs/reference/protocol.md")
    }

    @Test func functionCodes() {
        let rows = document.columns(in: "text", below: "### Function codes").joined().map { Array($0.prefix(2)) }
        #expect(rows == FunctionCode.allCases.map { ["\($0.rawValue)", "\($0)"] })
    }

    @Test func limits() {
        let rows = document.columns(in: "text", below: "### Limits").joined()
            .map { [$0[0], $0[1].filter { $0 != "," }] }
        let limits: [(String, UInt64)] = [
            ("blockSize", UInt64(Limits.blockSize)), ("pieceSize", UInt64(Limits.pieceSize)),
            ("dataBody", UInt64(Limits.dataBody)),
            ("zstdBody", UInt64(Limits.zstdBody)),
            ("controlBody", UInt64(Limits.controlBody)), ("path", UInt64(Limits.path)),
            ("pathComponent", UInt64(Limits.pathComponent)), ("pathDepth", UInt64(Limits.pathDepth)),
            ("text", UInt64(Limits.text)), ("uploadSize", Limits.uploadSize),
            ("unacknowledgedUploads", UInt64(Limits.unacknowledgedUploads)),
            ("lookup", UInt64(Limits.lookup)), ("receiptBatch", UInt64(Limits.receiptBatch)),
            ("sender", UInt64(Limits.sender)), ("requests", UInt64(Limits.requests)),
            ("requestBytes", UInt64(Limits.requestBytes)),
        ]
        #expect(rows == limits.map { [$0, "\($1)"] })
    }

    @Test func optionalFields() {
        let rows = document.columns(in: "text", below: "### Optional fields").last?.map { Array($0.prefix(2)) }
        let tags: [(FieldTag, String)] = [
            (.agent, "agent"), (.serverName, "serverName"), (.message, "message"), (.storedPath, "storedPath"),
            (.retryAfter, "retryAfter"), (.run, "run"), (.serverKey, "serverKey"), (.receipt, "receipt"),
            (.keeps, "keeps"), (.kind, "kind"), (.token, "token"), (.clientName, "clientName"),
            (.signature, "signature"), (.replaced, "replaced"), (.unlisted, "unlisted"), (.filled, "filled"),
            (.directory, "directory"), (.kept, "kept"), (.serverKeyProof, "serverKeyProof"),
            (.picture, "picture"), (.check, "check"),
            (.part, "part"), (.multipart, "multipart"), (.recipients, "recipients"), (.delivery, "delivery"),
            (.note, "note"), (.target, "target"), (.attributes, "attributes"), (.trash, "trash"),
            (.version, "version"),
        ]
        #expect(rows == tags.map { ["\($0.rawValue)", $1] })
    }

    @Test func features() {
        let rows = document.tables(below: "### `hello`").last?.dropFirst().map { Array($0.prefix(2)) }
        #expect(
            rows == [
                ["\(Features.receipts.rawValue)", "receipts"], ["\(Features.files.rawValue)", "files"],
                ["\(Features.mail.rawValue)", "mail"], ["\(Features.zstd.rawValue)", "zstd"],
                ["\(Features.zlib.rawValue)", "zlib"], ["\(Features.folders.rawValue)", "folders"],
                ["\(Features.pieces.rawValue)", "pieces"], ["\(Features.trees.rawValue)", "trees"],
                ["\(Features.owners.rawValue)", "owners"], ["\(Features.holes.rawValue)", "holes"],
                ["\(Features.trashes.rawValue)", "trashes"], ["\(Features.versions.rawValue)", "versions"],
                ["\(Features.pictures.rawValue)", "pictures"], ["\(Features.objects.rawValue)", "objects"],
            ])
    }

    @Test func kinds() {
        let rows = document.tables(below: "### `begin`").last?.dropFirst().map { Array($0.prefix(2)) }
        #expect(rows == ContentKind.allCases.map { ["\($0.rawValue)", $0.name] })
    }

    @Test func conflictPolicies() {
        let rows = document.table(below: "## Names that are taken").map { Array($0.prefix(2)) }
        #expect(rows == ConflictPolicy.allCases.map { ["\($0.rawValue)", "\($0)"] })
    }

    @Test func digests() throws {
        let blocks = document.columns(in: "text", below: "## Digests")
        #expect(
            blocks.first?.map { Array($0.prefix(2)) } == DigestAlgorithm.allCases.map { ["\($0.rawValue)", $0.name] })
        for row in try #require(blocks.last) {
            let algorithm = try #require(DigestAlgorithm.allCases.first { $0.name == row[1] })
            #expect(row[2].count == 2 * algorithm.function.size)
        }
    }

    @Test func timeouts() {
        let rows = document.table(below: "## Time-outs").map { Array($0.prefix(2)) }
        let timeouts = Liveness.Timeouts()
        let expected = [
            ("handshake", timeouts.handshake), ("heartbeat", timeouts.heartbeat), ("silence", timeouts.silence),
            ("idle", timeouts.idle),
        ].map { [$0, "\(Int($1.seconds)) s"] }
        #expect(Array(rows.prefix(4)) == expected)
        #expect(rows.last == ["minimum rate", "1,024 bytes/s over \(Int(Liveness.rateWindow.seconds)) s"])
    }

    /// Every field of a layout begins where the previous one ends. The ID at the front of requests and answers is
    /// described only once.
    @Test func layoutsHaveNoGaps() {
        let layouts = document.columns(in: "bytes")
        #expect(layouts.count == 29)
        for layout in layouts {
            var end = layout.first.flatMap { $0[0] == "4" ? 4 : 0 }
            for row in layout {
                #expect(row[0] == end.map(String.init) ?? "…", "\(row)")
                end = end.flatMap { start in Int(row[1]).map { start + $0 } }
            }
        }
    }

    @Test func everyExampleDecodesToWhatItsCaptionSays() throws {
        let expected = SpecificationExamples.all
        #expect(document.examples.map(\.caption) == expected.map(\.caption))
        for (example, expected) in zip(document.examples, expected) {
            #expect(example.bytes == expected.conversation.bytes, "\(example.caption)")
            let parsed = try Conversation.parse(example.bytes, shownUpTo: [example.bytes.count])
            #expect(parsed.frames == expected.conversation.frames, "\(example.caption)")
            #expect(parsed.consumed == example.bytes.count)
        }
    }
}
