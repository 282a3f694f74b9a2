import Testing
import TransferClient
import TransferModel
import TransferTestSupport

@testable import TransferCLI

@Suite struct FailedListTests {
    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
    }

    /// Two names that are equal as Swift strings but differ in bytes are listed separately, also below a folder whose
    /// name equals another one.
    @Test func namesThatLookAlikeAreTwo() throws {
        let list = try FailedList(home.path("failed"), .paths(end: 0), folder: "e\u{301}")
        for name in ["\u{E9}", "e\u{301}", "\u{E9}"] {
            var report = UploadReport.unusable(Array(home.path(name).utf8))
            report.isPath = true
            report.destination = "e\u{301}/\(name)"
            list.settle(report, hasFailed: true)
        }
        try list.write()
        let lines = try readFile(home.path("failed")).split(separator: 0).map { Array($0) }
        #expect(lines == ["\u{E9}", "e\u{301}"].map { Array("\(home.path)/./\($0)".utf8) })
    }

    private func failed(_ form: FailedList.Form) throws -> FailedList {
        let list = try FailedList(home.path("failed"), form, folder: "")
        for path in OddNames.paths { list.settle(path, to: path, hasFailed: true) }
        return list
    }

    @Test func everyPathIsReadAgain() throws {
        let list = try failed(.paths(end: 0))
        guard case .written = list.close() else { return #expect(Bool(false), "it says that it is written") }
        let again = PathList(try readFile(home.path("failed")), isNullSeparated: true)
        #expect(again.map { Array($0) } == OddNames.paths.map { Array($0.utf8) })
    }

    /// In a list with one path per line, a path with a line feed would be read as two other paths, which may exist. The
    /// list leaves such paths out and reports that.
    @Test func aPathWithALineFeedIsNotListedAsTwo() throws {
        let list = try failed(.paths(end: UInt8(ascii: "\n")))
        guard case .lost(let text) = list.close() else { return #expect(Bool(false), "it says that not all is listed") }
        let (left, kept) = (
            OddNames.paths.filter { $0.utf8.contains(UInt8(ascii: "\n")) },
            OddNames.paths.filter { !$0.utf8.contains(UInt8(ascii: "\n")) }
        )
        #expect(text.contains("\(left.count) paths") && text.contains("--null"))
        let again = PathList(try readFile(home.path("failed")), isNullSeparated: false)
        #expect(again.map { Array($0) } == kept.map { Array($0.utf8) })
    }

    @Test func everyLineOfAManifestIsReadAgain() throws {
        let list = try failed(.manifest([:]))
        guard case .written = list.close() else { return #expect(Bool(false), "it says that it is written") }
        let lines = try readFile(home.path("failed")).split(separator: UInt8(ascii: "\n"))
        for reader in [Manifest.Reader.push, .pull] {
            let again = try lines.map { try Manifest.entry(Array($0), for: reader) }
            #expect(again.map { Array($0.path.utf8) } == OddNames.paths.map { Array($0.utf8) })
            #expect(again.map { Array(($0.name ?? "").utf8) } == OddNames.paths.map { Array($0.utf8) })
        }
    }
}
